"""What an editor of one namespace may write and the operator cannot read: it goes on for everybody, and says so."""

import pytest
from tests.cluster.operator_lab import Lab, StartOperator, condition
from tests.nested_templates import NESTED, apply_nested

from checklist_crds.kube.client import KubeConnection
from checklist_crds.kube.kinds import TEMPLATE
from checklist_dev.controlplane import ControlPlane


@pytest.mark.parametrize("nested", NESTED)
async def test_a_value_that_is_nested_deeper_than_a_parser_goes_stops_no_operator(
    lab: Lab, start_operator: StartOperator, control_plane: ControlPlane, nested: str
) -> None:
    operator = await start_operator()
    connection = await KubeConnection.load(str(control_plane.kubeconfig))
    name = await apply_nested(connection, lab.organization, lab.namespace, nested)
    await lab.until(TEMPLATE, name, lambda body: condition(body, "Valid"))
    await lab.until_admitted(await lab.apply_run())
    assert await operator.metric("checklists_kopf_restarts_total") == 0
