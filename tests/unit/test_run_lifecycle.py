"""The life of a run, row by row (contract sections 4 and 5): what each command makes of it, and what it refuses."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from checklist_crds.errors import (
    AnswerInvalid,
    AssignedToAnother,
    IdempotencyKeyReused,
    NotFound,
    RequiredStepsMissing,
    RunClosed,
    RunExpired,
    ServiceError,
    ServiceUnavailable,
    ValidationFailed,
)
from checklist_crds.events import EventName
from checklist_crds.run_commands import (
    AnswerStep,
    Cancel,
    ClearAnswer,
    Command,
    Expire,
    GiveIdentity,
    Open,
    SkipStep,
    Submit,
)
from checklist_crds.run_lifecycle import Decision, decide, is_settled
from checklist_crds.run_types import (
    MAX_OUTBOX_BYTES,
    MAX_OUTBOX_ENTRIES,
    DeliveryPhase,
    DeliveryRecord,
    ExecutorIdentity,
    Geo,
    OutboxEntry,
    PhotoRef,
    Run,
    RunPhase,
    RunStatus,
)
from checklist_crds.template_types import Definition

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MEMBER = "u-00000000-0000-4000-8000-000000000001"
HERE = Geo(lat=52.5, lng=13.4, accuracy_m=8)
WHEN_A_IS_FALSE = {"when": {"step": "s-a", "op": "eq", "value": False}}


def step(name: str, kind: str = "boolean", **fields: Any) -> dict[str, Any]:
    return {"id": f"s-{name}", "type": kind, "label": name.title(), **fields}


def checklist(*steps: dict[str, Any], identity: str = "none", **settings: Any) -> Definition:
    return Definition.model_validate(
        {
            "name": "Opening check",
            "sections": [{"id": "g-all", "title": "All", "steps": list(steps)}],
            "settings": settings,
            "execution": {"identity_required": identity},
        }
    )


class Life:
    """One run and its story: every command goes through `decide`, and its status becomes the decided one."""

    def __init__(
        self, definition: Definition, *, events: Sequence[str] | None = ("*",), expires_at: datetime | None = None
    ) -> None:
        self.definition = definition
        resolved = {
            "organization": "acme",
            "templateId": "t-1",
            "templateVersion": 3,
            "templateName": definition.name,
            "revisionRef": {"name": "rev"},
            "identityMode": definition.identity_mode,
            "stepCount": sum(1 for _ in definition.steps()),
            "applicableSteps": 2,
        }
        spec: dict[str, Any] = {"createdAt": NOW - timedelta(hours=1), "expiresAt": expires_at, "resolved": resolved}
        if events is not None:
            spec["webhook"] = {"url": "https://example.com/hook", "events": list(events), "sealedSecret": "k1:x"}
        metadata = {"name": "r-1", "uid": "uid-1", "namespace": "ns", "resourceVersion": "7", "generation": 4}
        self.run = Run.parse({"metadata": metadata, "spec": spec})

    def does(self, command: Command, at: datetime = NOW) -> Decision:
        decision = decide(self.run, self.definition, command, at)
        self.set_status(decision.after)
        return decision

    def set_status(self, status: RunStatus) -> None:
        object.__setattr__(self.run, "status", status)

    def answers(self, name: str, value: JsonValue = True, at: datetime = NOW, **fields: Any) -> Decision:
        return self.does(AnswerStep(step_id=f"s-{name}", value=value, **fields), at)

    def refuses(self, command: Command, error: type[ServiceError], at: datetime = NOW) -> ServiceError:
        before = self.run.status
        with pytest.raises(error) as caught:
            decide(self.run, self.definition, command, at)
        assert self.run.status == before
        return caught.value

    @property
    def status(self) -> RunStatus:
        return self.run.status

    @property
    def events(self) -> list[EventName]:
        return [entry.event for entry in self.status.outbox]


def paths(error: ServiceError) -> list[str]:
    return [problem.path for problem in error.details or []]  # type: ignore[union-attr]


# --- from pending to in_progress


def test_the_first_answer_starts_the_run_and_a_later_one_keeps_its_time() -> None:
    life = Life(checklist(step("a"), step("b")))
    life.answers("a")
    assert (life.status.phase, life.status.started_at) == (RunPhase.IN_PROGRESS, NOW)
    assert life.status.answers["s-a"].value is True
    assert life.status.answers["s-a"].at == NOW
    assert life.status.last_step_id == "s-a"
    life.answers("b", at=NOW + timedelta(minutes=1))
    assert life.status.started_at == NOW


def test_the_first_skip_starts_the_run_and_skipping_twice_is_one_event() -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    life.does(SkipStep(step_id="s-a"))
    assert (life.status.phase, life.status.started_at) == (RunPhase.IN_PROGRESS, NOW)
    assert life.does(SkipStep(step_id="s-a")).patch() == {}
    assert life.events == [EventName.STEP_SKIPPED]


def test_opening_the_link_changes_nothing_and_giving_a_name_does_not_start_the_run() -> None:
    life = Life(checklist(step("a"), identity="external"))
    assert life.does(Open(op_id="1")).patch() == {}
    life.does(GiveIdentity(name="Ada", email="ada@example.com"))
    assert life.status.phase is RunPhase.PENDING


# --- answers


def test_an_answer_counts_in_progress_and_in_its_event() -> None:
    life = Life(checklist(step("a"), step("b")))
    life.answers("a", geo=HERE)
    assert life.run.progress.model_dump() == {"total": 2, "answered": 1, "skipped": 0}
    entry = life.status.outbox[0]
    assert (entry.seq, entry.event, entry.ts) == (1, EventName.STEP_COMPLETED, NOW)
    assert entry.frozen == {
        "step_id": "s-a",
        "value": True,
        "photos": [],
        "geo": {"lat": 52.5, "lng": 13.4, "accuracy_m": 8.0},
        "at": "2026-11-21T12:00:00.000Z",
        "by": None,
        "revision": 1,
        "progress": {"total": 2, "answered": 1, "skipped": 0},
    }


def test_answering_again_is_a_new_event_with_the_next_revision_also_after_a_clear_and_a_skip() -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    life.answers("a", True)
    life.answers("a", False)
    assert life.status.answers["s-a"].value is False
    for taken_back in (ClearAnswer(step_id="s-a"), SkipStep(step_id="s-a")):
        life.does(taken_back)
        life.answers("a")
    completed = [entry for entry in life.status.outbox if entry.event is EventName.STEP_COMPLETED]
    assert [entry.frozen["revision"] for entry in completed] == [1, 2, 3, 4]
    assert life.status.answers["s-a"].revision == 4


def test_an_answer_keeps_the_photos_of_the_one_before() -> None:
    life = Life(checklist(step("a", photo={"min": 0, "max": 2})))
    life.answers("a")
    photo = PhotoRef(key="k", content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    answered = life.status.answers["s-a"].model_copy(update={"photos": [photo]})
    life.set_status(life.status.model_copy(update={"answers": {"s-a": answered}}))
    life.answers("a", False)
    assert life.status.answers["s-a"].photos == [photo]


def test_an_answer_without_its_photos_is_kept_but_is_no_completed_step() -> None:
    life = Life(checklist(step("a", photo={"min": 1, "max": 2}, required=True)))
    life.answers("a")
    assert life.status.answers["s-a"].value is True
    assert life.events == []
    assert life.run.progress.answered == 0
    assert paths(life.refuses(Submit(), RequiredStepsMissing)) == ["s-a"]


def test_the_server_says_when_a_signature_was_given() -> None:
    life = Life(checklist(step("a", "signature")))
    life.answers("a", {"name": "Ada", "signed_at": "1999-01-01T00:00:00Z", "url": "https://evil.example"})
    value = life.status.answers["s-a"].value
    assert value == {"url": None, "name": "Ada", "signed_at": "2026-11-21T12:00:00.000Z"}


@pytest.mark.parametrize("value", ["yes", None, 1, [], {}])
def test_a_wrong_value_is_refused_and_changes_nothing(value: JsonValue) -> None:
    life = Life(checklist(step("a")))
    error = life.refuses(AnswerStep(step_id="s-a", value=value), AnswerInvalid)
    assert paths(error) == ["value"]


def test_a_denied_location_is_accepted_unless_the_step_insists() -> None:
    life = Life(checklist(step("a", geo=True), step("b", geo=True, geo_required=True)))
    life.answers("a", geo=None)
    assert life.status.answers["s-a"].geo is None
    assert paths(life.refuses(AnswerStep(step_id="s-b", value=True), AnswerInvalid)) == ["geo"]


@pytest.mark.parametrize("command", [AnswerStep, ClearAnswer, SkipStep])
@pytest.mark.parametrize("step_id", ["s-unknown", "s-read", "nonsense"])
def test_an_unknown_step_and_an_instruction_are_not_found(command: Any, step_id: str) -> None:
    life = Life(checklist(step("a"), step("read", "instruction"), allow_skip=True))
    fields = {"value": True} if command is AnswerStep else {}
    life.refuses(command(step_id=step_id, **fields), NotFound)


def test_a_step_whose_condition_does_not_hold_takes_no_answer_and_no_skip() -> None:
    life = Life(checklist(step("a"), step("why", "text", condition=WHEN_A_IS_FALSE), allow_skip=True))
    life.answers("a", True)
    for command in (AnswerStep(step_id="s-why", value="x"), SkipStep(step_id="s-why")):
        assert paths(life.refuses(command, AnswerInvalid)) == ["s-why"]


def test_toggling_a_condition_off_and_on_loses_no_answer() -> None:
    life = Life(checklist(step("a"), step("why", "text", condition=WHEN_A_IS_FALSE)))
    life.answers("a", False)
    life.answers("why", "broken")
    life.answers("a", True)
    assert life.run.progress.model_dump() == {"total": 1, "answered": 1, "skipped": 0}
    life.answers("a", False)
    assert life.status.answers["s-why"].value == "broken"
    assert life.run.progress.model_dump() == {"total": 2, "answered": 2, "skipped": 0}


def test_all_answers_together_may_not_outgrow_what_the_cluster_can_hold() -> None:
    steps = [step(str(number), "text", config={"multiline": True}) for number in range(60)]
    life = Life(checklist(*steps), events=None)
    text = "\N{SNOWMAN}" * 4000
    with pytest.raises(AnswerInvalid) as caught:
        for number in range(60):
            life.answers(str(number), text)
    assert paths(caught.value) == ["value"]
    assert 40 < len(life.status.answers) < 44  # 12 KB each, 512 KiB together


# --- clear and skip


def test_a_cleared_answer_is_gone_without_an_event_and_a_second_clear_changes_nothing() -> None:
    life = Life(checklist(step("a")))
    life.answers("a")
    life.does(ClearAnswer(step_id="s-a"))
    assert life.status.answers == {}
    assert life.run.progress.answered == 0
    assert life.events == [EventName.STEP_COMPLETED]
    assert life.does(ClearAnswer(step_id="s-a")).patch() == {}


def test_a_skip_takes_back_the_answer_and_an_answer_or_a_clear_takes_back_the_skip() -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    life.answers("a")
    life.does(SkipStep(step_id="s-a"))
    assert (life.status.answers, life.status.skipped_steps) == ({}, ["s-a"])
    assert life.run.progress.model_dump() == {"total": 1, "answered": 0, "skipped": 1}
    life.answers("a")
    assert life.status.skipped_steps == []
    life.does(SkipStep(step_id="s-a"))
    life.does(ClearAnswer(step_id="s-a"))
    assert life.status.skipped_steps == []


@pytest.mark.parametrize(("required", "allow_skip"), [(True, True), (False, False), (True, False)])
def test_only_an_optional_step_of_a_checklist_that_allows_it_is_skipped(required: bool, allow_skip: bool) -> None:
    life = Life(checklist(step("a", required=required), allow_skip=allow_skip))
    life.refuses(SkipStep(step_id="s-a"), AnswerInvalid)


# --- identity


def test_an_external_executor_says_who_they_are_before_anything_else() -> None:
    life = Life(checklist(step("a"), identity="external", allow_skip=True))
    for command in (AnswerStep(step_id="s-a", value=True), SkipStep(step_id="s-a"), Submit()):
        assert paths(life.refuses(command, ValidationFailed)) == ["identity"]
    life.does(GiveIdentity(name="Ada", email="ada@example.com"))
    life.answers("a")
    assert life.status.identity is not None
    assert life.status.identity.email == "ada@example.com"


def test_the_first_member_who_opens_the_run_is_the_one_it_is_assigned_to() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.does(Open(by=MEMBER))
    assert life.status.phase is RunPhase.PENDING
    for command in (Open(by="u-other"), AnswerStep(step_id="s-a", value=True, by="u-other"), Cancel(by="u-other")):
        life.refuses(command, AssignedToAnother)
    assert life.status.assigned_to == MEMBER


def test_only_a_member_answers_a_member_run_and_the_first_write_assigns_it_as_opening_does() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.refuses(AnswerStep(step_id="s-a", value=True), ValidationFailed)
    life.answers("a", by=MEMBER)
    assert life.status.answers["s-a"].by == life.status.assigned_to == MEMBER
    assert life.status.identity == ExecutorIdentity(user_id=MEMBER)
    life.refuses(AnswerStep(step_id="s-a", value=False, by="u-other"), AssignedToAnother)


def test_to_whom_a_run_is_not_assigned_neither_its_end_nor_a_replay_tells_anything() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.does(AnswerStep(step_id="s-a", value=True, by=MEMBER, op_id="1"))
    life.refuses(AnswerStep(step_id="s-a", value=True, by="u-other", op_id="1"), AssignedToAnother)
    life.does(Submit(by=MEMBER))
    life.refuses(Open(by="u-other"), AssignedToAnother)


def test_the_owner_cancels_a_run_whoever_answers_it() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.does(Open(by=MEMBER))
    life.does(Cancel(reason="cancelled_by_owner"))
    assert (life.status.phase, life.status.assigned_to) == (RunPhase.CANCELLED, MEMBER)


def test_a_run_for_anybody_is_assigned_to_no_member_and_takes_no_identity() -> None:
    life = Life(checklist(step("a")))
    life.does(Open(by=MEMBER))
    assert (life.status.assigned_to, life.status.identity) == (None, None)
    life.refuses(GiveIdentity(name="Ada", email="ada@example.com"), ValidationFailed)


# --- submit


def test_submit_completes_the_run_and_tells_the_owner() -> None:
    life = Life(checklist(step("a", required=True), step("b")))
    life.answers("a")
    later = NOW + timedelta(minutes=5)
    life.does(Submit(), later)
    assert (life.status.phase, life.status.completed_at) == (RunPhase.COMPLETED, later)
    assert life.events == [EventName.STEP_COMPLETED, EventName.RUN_COMPLETED]
    condition = life.status.conditions[0]
    assert (condition.type, condition.status, condition.observed_generation) == ("Completed", "True", 4)


def test_submit_names_every_gap_at_once_and_keeps_the_signature_with_its_time() -> None:
    steps = [step("a", required=True), step("b"), step("c", required=True)]
    life = Life(checklist(*steps, signature_on_complete=True))
    assert paths(life.refuses(Submit(), RequiredStepsMissing)) == ["s-a", "s-c", "signature"]
    life.answers("a")
    life.answers("c")
    life.does(Submit(signature_name="Ada Lovelace"))
    assert life.status.signature is not None
    assert (life.status.signature.name, life.status.signature.signed_at) == ("Ada Lovelace", NOW)


def test_a_required_step_that_does_not_apply_is_no_gap() -> None:
    life = Life(checklist(step("a"), step("why", "text", required=True, condition=WHEN_A_IS_FALSE)))
    life.answers("a", True)
    life.does(Submit())
    assert life.status.phase is RunPhase.COMPLETED


def test_answers_and_skips_that_do_not_apply_leave_at_completion() -> None:
    hidden = [step(name, condition=WHEN_A_IS_FALSE) for name in ("b", "c")]
    life = Life(checklist(step("a"), *hidden, allow_skip=True))
    life.answers("a", False)
    life.answers("b")
    life.does(SkipStep(step_id="s-c"))
    life.answers("a", True)
    life.does(Submit())
    assert (list(life.status.answers), life.status.skipped_steps) == (["s-a"], [])
    assert life.run.progress.model_dump() == {"total": 1, "answered": 1, "skipped": 0}


# --- cancel and expire


def test_cancelling_keeps_the_partial_answers_and_the_reason() -> None:
    life = Life(checklist(step("a"), step("b")))
    life.answers("a")
    life.does(Cancel(reason="wrong site"))
    assert (life.status.phase, life.status.cancelled_at) == (RunPhase.CANCELLED, NOW)
    assert (life.status.cancel_reason, list(life.status.answers)) == ("wrong site", ["s-a"])
    assert life.events[-1] is EventName.RUN_CANCELLED


@pytest.mark.parametrize("started", [False, True])
def test_a_run_expires_once_at_its_instant_with_its_true_progress(started: bool) -> None:
    life = Life(checklist(step("a"), step("b")), expires_at=NOW + timedelta(hours=1))
    if started:
        life.answers("a")
    assert life.does(Expire(), NOW + timedelta(minutes=59)).patch() == {}
    late = NOW + timedelta(hours=3)
    life.does(Expire(), late)
    assert life.does(Expire(), late).patch() == {}
    assert life.status.phase is RunPhase.EXPIRED
    assert life.events == [*([EventName.STEP_COMPLETED] if started else []), EventName.RUN_EXPIRED]
    assert life.status.outbox[-1].ts == NOW + timedelta(hours=1)
    assert life.run.progress.model_dump() == {"total": 2, "answered": int(started), "skipped": 0}


def test_expiry_holds_for_writers_before_the_operator_has_seen_it() -> None:
    life = Life(checklist(step("a")), expires_at=NOW)
    for command in (AnswerStep(step_id="s-a", value=True), Submit(), Cancel(), ClearAnswer(step_id="s-a")):
        life.refuses(command, RunExpired)
    life.answers("a", at=NOW - timedelta(milliseconds=1))


def test_a_run_in_which_nothing_is_required_is_submitted_from_pending_and_then_does_not_expire() -> None:
    life = Life(checklist(step("a")), expires_at=NOW + timedelta(hours=1))
    life.does(Submit())
    assert life.status.phase is RunPhase.COMPLETED
    assert life.status.started_at == life.status.completed_at == NOW
    assert life.does(Expire(), NOW + timedelta(days=1)).patch() == {}
    life.refuses(Cancel(), RunClosed, NOW + timedelta(days=1))


@pytest.mark.parametrize("closing", [Submit(), Cancel()])
def test_a_closed_run_takes_no_more_changes_but_can_be_opened(closing: Command) -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    life.does(closing)
    for command in (AnswerStep(step_id="s-a", value=True), SkipStep(step_id="s-a"), Submit(), Cancel()):
        life.refuses(command, RunClosed)
    assert life.does(Open(by=MEMBER)).patch() == {}


# --- replays


@pytest.mark.parametrize(
    "command",
    [
        AnswerStep(step_id="s-a", value=True, geo=HERE, op_id="op"),
        SkipStep(step_id="s-a", op_id="op"),
        Submit(op_id="op"),
        Cancel(reason="late", op_id="op"),
    ],
)
def test_an_operation_sent_again_changes_nothing_and_is_no_error_even_when_the_run_is_closed(command: Command) -> None:
    life = Life(checklist(step("a"), allow_skip=True), expires_at=NOW + timedelta(days=1))
    assert not life.does(command).replayed
    seq = life.status.seq
    again = life.does(command, NOW + timedelta(days=2))
    assert (again.replayed, again.patch(), life.status.seq) == (True, {}, seq)


def test_an_old_answer_sent_again_does_not_undo_a_newer_one() -> None:
    life = Life(checklist(step("a")))
    life.answers("a", True, op_id="1")
    life.answers("a", False, op_id="2")
    life.answers("a", True, op_id="1")
    assert life.status.answers["s-a"].value is False


@pytest.mark.parametrize("idle", [ClearAnswer(step_id="s-a", op_id="1"), SkipStep(step_id="s-a", op_id="1")])
def test_an_operation_that_changed_nothing_does_nothing_later_either(idle: Command) -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    if isinstance(idle, SkipStep):
        life.does(SkipStep(step_id="s-a"))
    life.does(idle)
    life.answers("a")
    assert life.does(idle).replayed
    assert list(life.status.answers) == ["s-a"]


def test_an_op_id_used_for_another_wish_is_refused_instead_of_losing_the_answer() -> None:
    life = Life(checklist(step("a"), step("b")))
    life.answers("a", True, op_id="1")
    life.refuses(AnswerStep(step_id="s-a", value=False, op_id="1"), IdempotencyKeyReused)
    life.refuses(AnswerStep(step_id="s-b", value=True, op_id="1"), IdempotencyKeyReused)
    life.refuses(ClearAnswer(step_id="s-a", op_id="1"), IdempotencyKeyReused)


def test_a_refused_operation_may_be_sent_again_once_it_is_possible() -> None:
    life = Life(checklist(step("a", required=True)))
    life.refuses(Submit(op_id="1"), RequiredStepsMissing)
    life.answers("a")
    assert not life.does(Submit(op_id="1")).replayed


# --- events, outbox, settled


@pytest.mark.parametrize(
    ("events", "recorded", "settled"),
    [(None, [], True), (["run.completed"], [(1, EventName.RUN_COMPLETED)], None)],
    ids=["without a webhook", "subscribed to the end only"],
)
def test_only_subscribed_events_are_recorded_and_a_run_without_any_settles_at_once(
    events: list[str] | None, recorded: list[Any], settled: bool | None
) -> None:
    life = Life(checklist(step("a")), events=events)
    life.answers("a")
    assert life.status.settled is None
    life.does(Submit())
    assert [(entry.seq, entry.event) for entry in life.status.outbox] == recorded
    assert (life.status.seq, life.status.settled) == (len(recorded), settled)


def test_an_event_has_the_same_id_in_every_process_and_the_next_one_another() -> None:
    lives = [Life(checklist(step("a"))) for _ in range(2)]
    for life in lives:
        life.answers("a")
        life.answers("a", False)
    first, second = ([entry.event_id for entry in life.status.outbox] for life in lives)
    assert first == second
    assert len(set(first)) == 2


@pytest.mark.parametrize("full", ["entries", "bytes"])
def test_when_too_many_events_wait_answers_are_asked_to_wait_but_the_run_can_end(full: str) -> None:
    life = Life(checklist(step("a")))
    # Measured in bytes as the cluster stores them: 1000 snowmen of 3 bytes in each.
    count, text = (
        (MAX_OUTBOX_ENTRIES, None) if full == "entries" else (MAX_OUTBOX_BYTES // 3000 + 1, "\N{SNOWMAN}" * 1000)
    )
    waiting = [
        OutboxEntry(seq=number + 1, event=EventName.STEP_COMPLETED, event_id="evt-x", ts=NOW, encoded=text)
        for number in range(count)
    ]
    life.set_status(life.status.model_copy(update={"outbox": waiting, "seq": count}))
    error = life.refuses(AnswerStep(step_id="s-a", value=True), ServiceUnavailable)
    assert int(error.headers["Retry-After"]) >= 1
    life.does(Submit())
    assert life.status.outbox[-1].seq == count + 1


def test_a_run_is_settled_when_it_is_final_and_nothing_is_left_to_send() -> None:
    delivered = DeliveryRecord(
        seq=1, event=EventName.RUN_COMPLETED, event_id="evt-1", phase=DeliveryPhase.DELIVERED, attempts=1
    )
    retried = delivered.model_copy(update={"phase": DeliveryPhase.PENDING})
    failed = delivered.model_copy(update={"phase": DeliveryPhase.FAILED})
    final = RunStatus(phase=RunPhase.COMPLETED)
    assert is_settled(final.model_copy(update={"deliveries": [delivered, failed]}))
    assert not is_settled(final.model_copy(update={"deliveries": [retried]}))
    assert not is_settled(RunStatus(phase=RunPhase.IN_PROGRESS))
