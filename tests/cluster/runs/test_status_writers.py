"""Every pair of writers of a run's status on a real API server: the second knows nothing of what the first wrote.

Changes of the run hold on the API's counter and records on the operator's (docs/design/data-plane.md): two of one kind
are decided one after the other, and two of different kinds never refuse each other.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest_asyncio
from tests.cluster.operator_lab import Lab

from checklist_crds.errors import ServiceError
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict
from checklist_crds.kube.run_store import RunStore
from checklist_crds.kube.run_writes import change_run_status
from checklist_crds.resources.delivery_records import DeliveryPhase, DeliveryRecord
from checklist_crds.resources.event_names import EventName
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.pause import PAUSED_ANNOTATION, with_pause
from checklist_crds.resources.run import PhotoRef, Run, RunPhase, RunStatus
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import AddPhoto, AnswerStep, Cancel, ClearAnswer, Command, Expire, SkipStep, Submit
from checklist_crds.runs.lifecycle import decide
from checklist_crds.runs.link_secret import with_link_secret
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_operator.attempts.run_records import with_delivering, with_records

PHOTO: Final = PhotoRef(key="photos/1", content_type="image/jpeg", bytes=1, sha256="0" * 64, width=1, height=1)
NO_STEPS: Final = Definition(name="-", sections=[])
LATER: Final = timedelta(hours=2)


class CountingClient(KubeClient):
    """Shares the connections of `shared` and counts the writes that were refused for a conflict."""

    def __init__(self, shared: KubeClient) -> None:
        self.__dict__.update(shared.__dict__)
        self.refused = 0

    async def json_patch_status(
        self, kind: Any, name: str, operations: Sequence[Mapping[str, Any]], namespace: str | None = None
    ) -> JsonObject:
        try:
            return await super().json_patch_status(kind, name, operations, namespace)
        except KubeConflict:
            self.refused += 1
            raise


@dataclass(frozen=True)
class Writer:
    """One writer as it acts on a run that it has read before. `shows`: what a run looks like on which it has acted."""

    name: str
    write: Callable[[CountingClient, JsonObject], Awaitable[None]]
    shows: Callable[[Run], bool]
    of: str
    """Whose fields it writes: "change" or "records"; "conditions" belong to both."""


def change(name: str, command: Command, shows: Callable[[Run], bool]) -> Writer:
    async def write(client: CountingClient, known: JsonObject) -> None:
        run = Run.parse(known)
        store = RunStore(client, Lab(client, run.namespace).revisions, utc_now)
        await store.change(run.namespace, run.name, command, known=run)

    return Writer(name, write, shows, "change")


def operator_write(name: str, new: Callable[[Run], RunStatus], shows: Callable[[Run], bool], *, of: str) -> Writer:
    async def write(client: CountingClient, known: JsonObject) -> None:
        metadata = known["metadata"]
        await change_run_status(client, metadata["namespace"], metadata["name"], new, known=known)

    return Writer(name, write, shows, of)


def record(seq: int, phase: DeliveryPhase) -> Callable[[Run], RunStatus]:
    def new(run: Run) -> RunStatus:
        made = DeliveryRecord(
            seq=seq, event=EventName.STEP_COMPLETED, event_id=event_id(run, seq), phase=phase, attempts=1
        )
        return with_records(run, [made])

    return new


def event_id(run: Run, seq: int) -> str:
    known = [*run.status.outbox, *run.status.delivery_records]
    return next(one.event_id for one in known if one.seq == seq)


def records(seq: int, phase: DeliveryPhase) -> Callable[[Run], bool]:
    return lambda run: any(one.seq == seq and one.phase is phase for one in run.status.delivery_records)


def expire(run: Run) -> RunStatus:
    return decide(run, NO_STEPS, Expire(), utc_now() + LATER).after


def pause(run: Run) -> RunStatus:
    metadata = {"annotations": {PAUSED_ANNOTATION: "true"}, "generation": 1}
    return run.status.model_copy(update={"conditions": with_pause(run.status.conditions, metadata, now=utc_now())})


def fault(run: Run) -> RunStatus:
    return with_delivering(run, run.status, ("SecretNotFound", "It is gone."), now=utc_now())


def link(run: Run) -> RunStatus:
    """The Secret with the link was created; one that has ended gets none."""
    return run.status if run.status.phase.is_final else with_link_secret(run, "uid", now=utc_now())


def has_condition(kind: str, reason: str | None = None) -> Callable[[Run], bool]:
    return lambda run: any(one.type == kind and reason in (None, one.reason) for one in run.status.conditions)


def has_phase(phase: RunPhase) -> Callable[[Run], bool]:
    return lambda run: run.status.phase is phase


WRITERS: Final = (
    change("answer", AnswerStep(step_id="s-2", value=7), lambda run: "s-2" in run.status.answers),
    change("correct", AnswerStep(step_id="s-0", value=8), lambda run: run.status.answers["s-0"].value == 8),
    change("clear", ClearAnswer(step_id="s-1"), lambda run: "s-1" not in run.status.answers),
    change("skip", SkipStep(step_id="s-3"), lambda run: run.status.skipped_steps == ["s-3"]),
    change("photo", AddPhoto(step_id="s-4", photo=PHOTO), lambda run: bool(run.status.answers["s-4"].photos)),
    change("submit", Submit(), has_phase(RunPhase.COMPLETED)),
    change("cancel", Cancel(reason="enough"), has_phase(RunPhase.CANCELLED)),
    operator_write("expire", expire, has_phase(RunPhase.EXPIRED), of="change"),
    operator_write("delivered", record(1, DeliveryPhase.DELIVERED), records(1, DeliveryPhase.DELIVERED), of="records"),
    operator_write("failed once", record(2, DeliveryPhase.PENDING), records(2, DeliveryPhase.PENDING), of="records"),
    operator_write("link", link, lambda run: run.status.link_secret_uid == "uid", of="change"),
    operator_write("fault", fault, has_condition("Delivering"), of="conditions"),
    operator_write("pause", pause, has_condition("Paused"), of="conditions"),
)
CLOSING: Final = ("submit", "cancel", "expire")
SETTING_CONDITIONS: Final = (*CLOSING, "link")
"""Changes that write conditions, too."""


@pytest_asyncio.fixture
async def run_body(lab: Lab) -> Callable[[], Awaitable[JsonObject]]:
    """Makes runs with two answers, whose events wait in the outbox."""
    step = {"type": "number", "label": "How many?"}
    steps = [{"id": f"s-{number}", **step} for number in range(4)] + [{"id": "s-4", "type": "photo", "label": "Show"}]
    basis = lab.template_body("t-00000000-0000-4000-8000-000000000001")
    sections = [{"id": "g-1", "title": "Kitchen", "steps": steps}]
    lab.template = lab.template | {"spec": basis["spec"] | {"sections": sections}}

    async def make() -> JsonObject:
        name = await lab.dispatch("https://receiver.example/hook", expires_in_s=3600)
        for number in (0, 1):
            await lab.answer(name, number)
        return await lab.get(RUN, name)

    return make


async def test_no_writer_undoes_another_and_none_is_refused_for_fields_that_are_not_its_own(
    lab: Lab, run_body: Callable[[], Awaitable[JsonObject]]
) -> None:
    for first, second in itertools.product(WRITERS, WRITERS):
        pair = f"{first.name}, then {second.name}"
        known = await run_body()
        client = CountingClient(lab.client)
        await first.write(client, known)
        assert client.refused == 0, pair
        try:
            await second.write(client, known)
            has_ended = second.name in ("expire", "link") and first.name in CLOSING
        except ServiceError:
            assert first.name in CLOSING and second.of == "change", pair
            has_ended = True
        run = await lab.run(known["metadata"]["name"])
        assert first.shows(run), pair
        assert has_ended or second.shows(run), pair
        if first is not second:
            assert client.refused == int(share_fields(first, second)), pair
        assert_is_whole(run, pair)


def share_fields(first: Writer, second: Writer) -> bool:
    """Whether the second write holds on something that the first one wrote: it is refused once, and decided again."""
    sets = first.name in SETTING_CONDITIONS or second.name in SETTING_CONDITIONS
    return first.of == second.of or (sets and "conditions" in (first.of, second.of))


def assert_is_whole(run: Run, pair: str) -> None:
    """Every event either waits or is recorded, once, and none is missing."""
    waiting, recorded = [one.seq for one in run.status.outbox], [one.seq for one in run.status.delivery_records]
    assert sorted(waiting + recorded) == list(range(1, run.status.seq + 1)), pair
    assert not run.status.settled, pair
