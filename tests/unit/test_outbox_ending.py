"""Which runs of a full outbox an operator looks up at its end, and one that follows another at its start."""

import asyncio
from typing import Any

import pytest
from tests.waiting import eventually

from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import Kind
from checklist_operator.controllers.run_outbox import RunOutbox
from checklist_operator.handover import NO_HANDOVER, AttemptMade, BeingRecorded, Handover
from checklist_operator.patience import Patience

ENTRY = {"eventId": "evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1c9a11", "event": "step.completed", "seq": 1, "data": "{}"}
ENTRY["ts"] = "2026-11-22T12:00:00.000Z"


class _Double:
    """A transmitter, and a client that has no object and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0

    def speak_of(self, run: Any) -> None:
        """Of no interest here."""

    async def get(self, kind: Kind, name: str, namespace: str) -> Any:
        self.asked += 1
        raise KubeNotFound("none")


def _run(number: int) -> dict[str, Any]:
    metadata = {"name": f"r-{number}", "namespace": "checklists", "uid": str(number), "resourceVersion": "1"}
    metadata["creationTimestamp"] = "2026-11-22T12:00:00Z"
    spec = {"organizationRef": {"name": "acme"}, "templateRef": {"name": "t-opening"}}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", "outbox": [ENTRY]}}


def _outbox(client: Any, bugs: list[str], left: Handover = NO_HANDOVER) -> RunOutbox:
    unused: Any = dict.fromkeys(
        ("revisions", "secrets", "deliveries", "pauses", "metrics", "events", "clock", "photos")
    )
    unused |= {"transmitter": client, "being_recorded": BeingRecorded(left)}
    return RunOutbox(client, **unused, allow_insecure=False, on_bug=bugs.append)


async def _listed(outbox: RunOutbox) -> None:
    """Twenty runs, as a start lists them, and time for the outbox to look at all of them."""
    for number in range(20):
        outbox.observe(None, _run(number))
    await eventually(lambda: not len(outbox.queue))


async def test_a_start_looks_every_run_up_and_an_end_none() -> None:
    for ends, asked in ((False, 20), (True, 0)):
        client = _Double()
        outbox = _outbox(client, bugs := [])
        patience = Patience(no_more_starts=lambda: None, no_more_answers=lambda: None)
        if ends:
            await outbox.until_answered(patience)
            await outbox.until_recorded(patience)
            patience.end()
        await _listed(outbox)
        await outbox.close()
        assert (client.asked, bugs) == (asked, [])


@pytest.mark.looptime
async def test_what_the_leader_before_records_is_not_looked_up_until_it_should_have() -> None:
    client = _Double()
    outbox = _outbox(client, bugs := [], {str(ENTRY["eventId"]): AttemptMade(1, 3.0)})
    await _listed(outbox)
    assert client.asked == 0
    await asyncio.sleep(3.1)
    await eventually(lambda: not len(outbox.queue))
    await outbox.close()
    assert (client.asked, bugs) == (20, [])
