"""What an editor of one namespace may write and the operator cannot read: it goes on for everybody, and says so."""

from typing import Any

import pytest
from tests.cluster.operator_lab import Lab, StartOperator, condition
from tests.nested_templates import NESTED, apply_nested
from tests.waiting import eventually

from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.base import CREATED_AT_ANNOTATION, SIZE_ANNOTATION, VERSION_OFFSET_ANNOTATION
from checklist_crds.resources.kinds import DELIVERY_REPLAY, RUN, TEMPLATE
from checklist_crds.times import format_timestamp
from checklist_dev.local.controlplane import ControlPlane


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


@pytest.mark.parametrize(
    "times",
    [
        {"createdAt": "0001-01-01T00:00:00+14:00"},
        {"expiresAt": "9999-12-31T23:59:59-14:00"},
        {"createdAt": "0000-01-01T00:00:00Z", "expiresInHours": 1},
    ],
)
async def test_a_run_or_replay_with_a_time_that_is_none_is_refused(
    lab: Lab, start_operator: StartOperator, times: dict[str, Any]
) -> None:
    await start_operator(CHECKLISTS_SWEEP_SECONDS="0.2")
    run = await lab.apply_run(**times)
    name = next(name for name in times if name.endswith("At"))
    refusal = await lab.until_condition(RUN, run, "Admitted", status="False", reason="Invalid")
    assert refusal["message"].startswith(f"spec.{name}: ")
    filters = {"finishedAfter": times[name]}
    replay = lab.owned("DeliveryReplay", "odd", filter=filters, ttlSecondsAfterFinished=3600)
    await lab.client.create(DELIVERY_REPLAY, replay, lab.namespace)
    refusal = await lab.until_condition(DELIVERY_REPLAY, "odd", "Complete", status="False", reason="Invalid")
    assert refusal["message"].startswith("spec.filter.finishedAfter: ")
    short = lab.owned("DeliveryReplay", "short", filter=filters, ttlSecondsAfterFinished=0)
    await lab.client.create(DELIVERY_REPLAY, short, lab.namespace)
    await eventually(lambda: lab.is_gone(DELIVERY_REPLAY, "short"))
    assert not await lab.is_gone(DELIVERY_REPLAY, "odd")


async def test_the_last_run_of_the_calendar_expires_with_it(lab: Lab, start_operator: StartOperator) -> None:
    await start_operator()
    run = await lab.apply_run(createdAt="9999-12-31T23:59:59Z", expiresInHours=8760)
    admitted = await lab.until_admitted(run)
    assert format_timestamp(admitted.status.expires_at or admitted.created_at) == "9999-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    "annotations",
    [
        {CREATED_AT_ANNOTATION: "0001-01-01T00:00:00+14:00"},
        {CREATED_AT_ANNOTATION: "yesterday"},
        {VERSION_OFFSET_ANNOTATION: "9" * 5000},
        {VERSION_OFFSET_ANNOTATION: "9" * 30},
        {SIZE_ANNOTATION: "9" * 5000},
    ],
)
async def test_an_annotation_that_is_none_of_the_service_s_is_passed_over(
    lab: Lab, start_operator: StartOperator, annotations: dict[str, str]
) -> None:
    await start_operator()
    body = lab.template_body("by-hand", revisedAt="2026-01-01T00:00:00+99:99")
    body["metadata"]["annotations"] = annotations
    await lab.client.create(TEMPLATE, body, lab.namespace)
    await lab.until_condition(TEMPLATE, "by-hand", "Valid", status="True")
    admitted = await lab.until_admitted(await lab.apply_run(templateRef={"name": "by-hand"}))
    assert admitted.admitted_as.template_version == 1
