"""Older states of objects, from lists and from caches of API servers, undo nothing and end nothing."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.delivery.test_outbox_pace import preparation

from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.delivery import WebhookDeliveryStatus
from checklist_crds.resources.kinds import Kind
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_operator.attempts.delivery_state import Send
from checklist_operator.attempts.pauses import Paused, Pauses

RUN_ID = "r-00000000-0000-4000-8000-000000000001"
RESOLVED = {"organization": "acme", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"}
RESOLVED |= {"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1}


def run(version: int, *, paused: bool = False, **status: Any) -> dict[str, Any]:
    metadata = {"name": RUN_ID, "namespace": "n", "resourceVersion": str(version), "uid": "u"}
    metadata["creationTimestamp"] = "2026-11-22T12:00:00Z"
    spec = {"webhook": {"url": "https://a.test/", "events": ["*"], "secretRef": {"name": "s"}}}
    annotations = {PAUSED_ANNOTATION: "true"} if paused else {}
    return {"metadata": {**metadata, "annotations": annotations}, "spec": spec, "status": status}


async def test_an_older_list_pauses_no_run_that_was_resumed() -> None:
    client: Any = None
    resumed: list[int] = []
    pauses = Pauses(client, on_resume=lambda: resumed.append(1))
    pauses.observe_run("MODIFIED", run(90, paused=True))
    with pytest.raises(Paused):
        pauses.check_known(("n", RUN_ID), "acme")
    pauses.observe_run("MODIFIED", run(150))
    pauses.observe_run(None, run(100, paused=True))
    pauses.check_known(("n", RUN_ID), "acme")
    pauses.observe_run("MODIFIED", run(160, paused=True))
    with pytest.raises(Paused):
        pauses.check_known(("n", RUN_ID), "acme")
    assert resumed == [1]


class _Ended(Exception):
    """The preparation went on to the signing secret."""


@pytest.mark.parametrize("cached", [None, run(5)], ids=["missing", "not admitted yet"])
@pytest.mark.parametrize("newest", [None, run(9, resolved=RESOLVED)], ids=["gone", "there"])
async def test_a_delivery_ends_only_when_etcd_has_no_run(cached: Any, newest: Any) -> None:
    refusals: list[ReplayRefusal] = []

    def read(found: dict[str, Any] | None) -> Any:
        async def get(_: Kind, name: str, namespace: str) -> dict[str, Any]:
            if found is None:
                raise KubeNotFound("none")
            return found

        return get

    async def give_up(_: Any, __: Any, refusal: ReplayRefusal) -> None:
        refusals.append(refusal)

    async def check(*_: Any) -> None:
        raise _Ended

    target = {"url": "https://a.test/", "run_ref": SimpleNamespace(name=RUN_ID), "public_run_id": RUN_ID}
    spec = SimpleNamespace(**target, organization_ref=SimpleNamespace(name="acme"))
    delivery: Any = SimpleNamespace(spec=spec, name="evt-1", namespace="n", status=WebhookDeliveryStatus())
    reads: Any = SimpleNamespace(get=read(cached), get_newest=read(newest))
    settler: Any = SimpleNamespace(give_up=give_up)
    pauses: Any = SimpleNamespace(check=check)
    prepared = preparation(reads=reads, settler=settler, pauses=pauses)
    if newest is None:
        assert await prepared._of_action(delivery, Send(2)) is None
        assert refusals == [ReplayRefusal.RUN_DELETED]
    else:
        with pytest.raises(_Ended):
            await prepared._of_action(delivery, Send(2))
        assert refusals == []
