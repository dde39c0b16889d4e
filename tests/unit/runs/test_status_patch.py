"""Which fields a write of a run's status sends, and on which it holds."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.kube.memory_cluster import MemoryCluster

from checklist_crds.kube.errors import KubeConflict, from_status
from checklist_crds.kube.run_writes import status_patch
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord, merge, text_of
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Answer, OutboxEntry, Run, RunPhase, RunStatus

RUN_ID = "r-00000000-0000-4000-8000-000000000001"
NOW = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)


def answer(value: str = '"yes"', revision: int = 1) -> Answer:
    return Answer(encoded=value, at=NOW, revision=revision)


def event(seq: int) -> OutboxEntry:
    return OutboxEntry(seq=seq, event=EventName.STEP_COMPLETED, event_id=f"evt-{seq}", ts=NOW, encoded="{}")


def record(seq: int, phase: DeliveryPhase = DeliveryPhase.DELIVERED) -> DeliveryRecord:
    return DeliveryRecord(seq=seq, event=EventName.STEP_COMPLETED, event_id=f"evt-{seq}", phase=phase, attempts=1)


def answered(run: Run, step: str) -> RunStatus:
    """What an answer with an event makes of the run."""
    seq = run.status.seq + 1
    return run.status.model_copy(
        update={
            "phase": RunPhase.IN_PROGRESS,
            "answers": {**run.status.answers, step: answer()},
            "operations": run.status.operations + f"op-{seq},",
            "seq": seq,
            "outbox": [*run.status.outbox, event(seq)],
        }
    )


def recorded(run: Run, *seqs: int) -> RunStatus:
    """What a record of these events makes of the run."""
    outbox = [one for one in run.status.outbox if one.seq not in seqs]
    records = text_of(merge(run.status.delivery_records, map(record, seqs)))
    return run.status.model_copy(update={"records": records, "structured_records": [], "outbox": outbox})


class Stored:
    """One run in the cluster."""

    def __init__(self, **status: Any) -> None:
        self.cluster = MemoryCluster()
        self.cluster.put(RUN, RUN_ID, {})
        self.cluster.objects[RUN, RUN_ID]["status"] = {"phase": "Pending"} | status

    def read(self) -> Run:
        return Run.parse(self.cluster.read(RUN, RUN_ID))

    async def write(self, run: Run, after: RunStatus) -> Run:
        return Run.parse(await self.cluster.json_patch_status(RUN, RUN_ID, status_patch(run, after)))

    @property
    def status(self) -> Any:
        return copy.deepcopy(self.cluster.objects[RUN, RUN_ID]["status"])


async def test_an_answer_sends_what_it_changed_and_nothing_else() -> None:
    stored = Stored()
    run = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    patch = status_patch(run, answered(run, "s-2"))
    assert {one["path"] for one in patch if one["op"] == "test"} == {
        "/status/changes",
        "/status/seq",
        "/status/phase",
        "/status/operations",
    }
    assert [one["path"] for one in patch if one["op"] != "test"] == [
        "/status/changes",
        "/status/answers/s-2",
        "/status/operations",
        "/status/seq",
        "/status/outbox/-",
    ]
    assert status_patch(run, run.status) == []


async def test_answers_and_records_never_refuse_each_other() -> None:
    stored = Stored()
    api = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    operator = stored.read()
    for number in range(2, 5):
        after_record = await stored.write(operator, recorded(operator, number - 1))
        api = await stored.write(api, answered(api, f"s-{number}"))  # knows nothing of the record
        assert [one.seq for one in after_record.status.outbox] == []
        operator = stored.read()
    assert [one.seq for one in operator.status.outbox] == [4]
    assert [one.seq for one in operator.status.delivery_records] == [1, 2, 3]
    assert set(stored.status["answers"]) == {"s-1", "s-2", "s-3", "s-4"}
    # Each change took out what the one before it had learned to be recorded.
    assert [one["seq"] for one in stored.status["outbox"]] == [3, 4]


async def test_two_answers_or_two_records_at_once_are_one_and_a_conflict() -> None:
    stored = Stored()
    run = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    await stored.write(run, answered(run, "s-2"))
    with pytest.raises(KubeConflict):
        await stored.write(run, answered(run, "s-3"))
    await stored.write(run, recorded(run, 1))
    with pytest.raises(KubeConflict):
        await stored.write(run, recorded(run, 1, 2))
    assert [one["seq"] for one in stored.status["outbox"]] == [1, 2]


async def test_a_change_by_a_release_without_the_counter_is_seen() -> None:
    stored = Stored()
    run = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    older = answered(run, "s-2").to_kube()
    await stored.cluster.patch_status(RUN, RUN_ID, {name: older[name] for name in ("answers", "seq", "operations")})
    with pytest.raises(KubeConflict):
        await stored.write(run, answered(run, "s-3"))


async def test_what_an_older_operator_took_out_of_the_outbox_does_not_come_back() -> None:
    stored = Stored()
    run = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    taken = {"outbox": [], "deliveries": [record(1).to_kube()]}
    await stored.cluster.patch_status(RUN, RUN_ID, taken)
    run = await stored.write(run, answered(run, "s-2"))
    assert [one.seq for one in run.status.outbox] == [2]
    assert [one.seq for one in run.status.delivery_records] == [1]


async def test_structured_records_become_text_with_the_next_record_unless_one_was_added_meanwhile() -> None:
    stored = Stored(seq=2, outbox=[event(2).to_kube()], deliveries=[record(1).to_kube()])
    run = stored.read()
    longer = {"deliveries": [record(1).to_kube(), record(2).to_kube()]}
    await stored.cluster.patch_status(RUN, RUN_ID, longer)
    with pytest.raises(KubeConflict):
        await stored.write(run, recorded(run, 2))
    run = await stored.write(stored.read(), recorded(stored.read(), 2))
    assert [one.seq for one in run.status.delivery_records] == [1, 2]
    assert "deliveries" not in stored.status


async def test_the_operator_clears_the_outbox_of_a_run_that_has_ended() -> None:
    stored = Stored(phase="Cancelled", seq=1, outbox=[event(1).to_kube()])
    run = stored.read()
    await stored.write(run, recorded(run, 1).model_copy(update={"settled": True}))
    assert "outbox" not in stored.status
    assert stored.status["settled"] is True
    assert status_patch(stored.read(), stored.read().status) == []


async def test_an_unchanged_run_has_its_recorded_events_removed_by_the_operator() -> None:
    stored = Stored()
    api = await stored.write(stored.read(), answered(stored.read(), "s-1"))
    run = stored.read()
    patch = status_patch(run, recorded(run, 1), drop_recorded=True)
    await stored.cluster.json_patch_status(RUN, RUN_ID, patch)
    assert stored.status["outbox"] == []
    api = await stored.write(api, answered(api, "s-2"))  # knows the outbox as it was before
    assert [one.seq for one in api.status.outbox] == [2]
    run = stored.read()
    await stored.write(api, answered(api, "s-3"))
    with pytest.raises(KubeConflict):
        await stored.cluster.json_patch_status(RUN, RUN_ID, status_patch(run, recorded(run, 2), drop_recorded=True))


async def test_members_that_go_are_removed_and_the_first_makes_the_object() -> None:
    stored = Stored()
    run = await stored.write(stored.read(), stored.read().status.model_copy(update={"answers": {"s-1": answer()}}))
    after = run.status.model_copy(update={"answers": {"s~/2": answer()}, "revisions": {"s-1": 1}})
    run = await stored.write(run, after)
    assert (set(run.status.answers), run.status.revisions) == ({"s~/2"}, {"s-1": 1})
    run = await stored.write(run, run.status.model_copy(update={"revisions": {}}))
    assert run.status.revisions == {}


def test_a_patch_that_does_not_fit_is_a_conflict_and_an_invalid_object_is_not() -> None:
    assert isinstance(from_status(422, {"reason": "Invalid", "details": {}}), KubeConflict)
    invalid = {"kind": "Run", "causes": [{"reason": "FieldValueInvalid"}]}
    assert not isinstance(from_status(422, {"reason": "Invalid", "details": invalid}), KubeConflict)
