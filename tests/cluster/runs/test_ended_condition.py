"""`kubectl wait --for=condition=Ended`: one command for every end, also of runs that an earlier release has ended."""

import asyncio
from typing import Any

import pytest
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, StartOperator, condition

from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.kinds import RUN
from checklist_crds.runs.end_conditions import ENDED
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.kubectl import Kubectl
from checklist_operator.controllers.ended_condition import EndedConditions


async def ended_before(lab: Lab, run: str) -> JsonObject:
    """Make of a run that has ended one that an earlier release has ended."""
    body = await lab.get(RUN, run)
    others = [one for one in body["status"]["conditions"] if one["type"] != ENDED]
    assert len(others) == len(body["status"]["conditions"]) - 1
    return await lab.client.patch_status(RUN, run, {"conditions": others}, lab.namespace)


async def test_kubectl_wait_returns_for_every_end_of_a_run(
    lab: Lab, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    completed, cancelled = await lab.dispatch(), await lab.dispatch()
    admitted = await lab.until_admitted(await lab.apply_run(expiresInHours=2 / 3600))
    never = await lab.apply_run(templateRef={"name": "missing"}, expiresInHours=2 / 3600)
    names = [f"run/{name}" for name in (completed, cancelled, admitted.name, never)]
    arguments = ("wait", "-n", lab.namespace, "--for=condition=Ended", "--timeout=60s", *names)
    waiting = asyncio.create_task(asyncio.to_thread(kubectl, *arguments, timeout_s=90.0))
    await lab.submit(completed)
    await lab.cancel(cancelled)
    assert {line.split()[-2:][0] for line in (await waiting).splitlines()} == {"condition"}
    for name, reason in (
        (completed, "Completed"),
        (cancelled, "Cancelled"),
        (admitted.name, "Expired"),
        (never, "Expired"),
    ):
        body = await lab.get(RUN, name)
        found = condition(body, ENDED)
        assert found is not None and (found["status"], found["reason"]) == ("True", reason)
        assert body["status"]["phase"] == reason
        completed_condition = condition(body, "Completed")
        assert completed_condition is not None
        assert completed_condition["status"] == ("True" if reason == "Completed" else "False")


async def test_runs_that_an_earlier_release_has_ended_get_the_condition_settled_or_not(
    lab: Lab, receiver: Receiver, start_operator: StartOperator
) -> None:
    settled, unsettled, still_open = await lab.dispatch(), await lab.dispatch(receiver.url), await lab.dispatch()
    receiver.answer = lambda _: 500
    for run in (settled, unsettled):
        await lab.cancel(run)
        body = await ended_before(lab, run)
        assert bool(body["status"].get("settled")) is (run == settled)
    await start_operator(CHECKLISTS_SWEEP_SECONDS="0.5", CHECKLISTS_RETRY_GAPS="600,600,600,600")
    for run in (settled, unsettled):
        found = await lab.until_condition(RUN, run, ENDED, status="True", reason="Cancelled")
        body = await lab.get(RUN, run)
        completed = condition(body, "Completed")
        assert completed is not None and found["lastTransitionTime"] == completed["lastTransitionTime"]
    assert condition(await lab.get(RUN, still_open), ENDED) is None


async def test_a_sweep_lists_settled_runs_only_until_it_has_found_none_without_the_condition(
    lab: Lab, namespace: str
) -> None:
    runs = [await lab.dispatch() for _ in range(3)]
    for run in runs:
        await lab.cancel(run)
    for run in runs[:2]:
        await ended_before(lab, run)
    lists: list[str | None] = []

    class Listing(KubeClient):
        def __init__(self, shared: KubeClient) -> None:
            self.__dict__.update(shared.__dict__)

        def pages(self, *given: Any, **options: Any) -> Any:
            lists.append(options["field_selector"])
            return super().pages(*given, **options)

    ends = EndedConditions(Listing(lab.client), namespaces=(namespace,), on_bug=pytest.fail, write_interval_s=0)
    assert [await ends.sweep() for _ in range(4)] == [2, 0, 0, 0]
    assert lists == ["status.settled=true"] * 2
    for run in runs:
        assert condition(await lab.get(RUN, run), ENDED) is not None
