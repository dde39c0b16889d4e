"""The life of a run (contract sections 4 and 5): what each command makes of it, and what it refuses."""

import contextlib
import json
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
from checklist_crds.resources.run import (
    MAX_OUTBOX_BYTES,
    MAX_OUTBOX_ENTRIES,
    ExecutorIdentity,
    Geo,
    OutboxEntry,
    PhotoRef,
    Run,
    RunPhase,
    RunStatus,
)
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.batch import decide_in_turn
from checklist_crds.runs.commands import (
    AddPhoto,
    AnswerStep,
    Cancel,
    ClearAnswer,
    Command,
    Expire,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
)
from checklist_crds.runs.events import EventName
from checklist_crds.runs.lifecycle import Decision, decide
from checklist_crds.templates.conditions import progress
from checklist_crds.values import merge_patch

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


def diff_of(decision: Decision) -> dict[str, Any]:
    """What the decision changes, as a merge patch."""
    return merge_patch.diff(decision.before.to_kube(), decision.after.to_kube())


def stored(status: RunStatus) -> RunStatus:
    """The status after a journey through the cluster."""
    return RunStatus.model_validate(json.loads(json.dumps(status.to_kube())))


class Life:
    """One run and its story: every command goes through `decide`, and its status becomes the decided one."""

    def __init__(
        self, definition: Definition, *, events: Sequence[str] | None = ("*",), expires_at: datetime | None = None
    ) -> None:
        self.definition = definition
        resolved = {
            **{"organization": "acme", "templateId": "t-1", "templateVersion": 3, "templateName": definition.name},
            **{"revisionRef": {"name": "rev"}, "identityMode": definition.identity_mode},
            **{"stepCount": sum(1 for _ in definition.steps()), "applicableSteps": progress(definition, {}, ()).total},
        }
        spec: dict[str, Any] = {"createdAt": NOW - timedelta(hours=1), "expiresAt": expires_at, "resolved": resolved}
        if events is not None:
            spec["webhook"] = {"url": "https://example.com/hook", "events": list(events), "sealedSecret": "k1:x"}
        metadata = {"name": "r-1", "uid": "uid-1", "namespace": "ns", "resourceVersion": "7", "generation": 4}
        self.run = Run.parse({"metadata": metadata, "spec": spec})

    def does(self, command: Command, at: datetime = NOW) -> Decision:
        decision = decide(self.run, self.definition, command, at)
        object.__setattr__(self.run, "status", stored(decision.after))
        return decision

    def update(self, **fields: Any) -> None:
        """Change the status without a command."""
        object.__setattr__(self.run, "status", self.run.status.model_copy(update=fields))

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

    @property
    def progress(self) -> tuple[int, int, int]:
        """(total, answered, skipped)"""
        counted = self.run.progress
        return counted.total, counted.answered, counted.skipped


def paths(error: ServiceError) -> list[str]:
    return [problem.path for problem in error.details or []]  # type: ignore[union-attr]


def test_the_first_answer_starts_the_run_and_counts_in_progress_and_in_its_event() -> None:
    life = Life(checklist(step("a"), step("b")))
    life.answers("a", geo=HERE)
    assert (life.status.phase, life.status.started_at) == (RunPhase.IN_PROGRESS, NOW)
    answer = life.status.answers["s-a"]
    assert (answer.value, answer.at, life.status.last_step_id) == (True, NOW, "s-a")
    assert life.progress == (2, 1, 0)
    entry = life.status.outbox[0]
    assert (entry.seq, entry.event, entry.ts) == (1, EventName.STEP_COMPLETED, NOW)
    assert entry.frozen == {
        **{"step_id": "s-a", "value": True, "photos": [], "geo": {"lat": 52.5, "lng": 13.4, "accuracy_m": 8.0}},
        **{"at": "2026-11-21T12:00:00.000Z", "by": None, "revision": 1},
        "progress": {"total": 2, "answered": 1, "skipped": 0},
    }
    life.answers("b", at=NOW + timedelta(minutes=1))
    assert life.status.started_at == NOW


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


def test_an_invalid_answer_is_refused_and_changes_nothing() -> None:
    steps = (step("a", geo=True), step("b", geo=True, geo_required=True), step("read", "instruction"))
    life = Life(checklist(*steps, allow_skip=True))
    for value in ("yes", None, 1, [], {}):
        assert paths(life.refuses(AnswerStep(step_id="s-a", value=value), AnswerInvalid)) == ["value"]
    life.answers("a", geo=None)  # a denied location
    assert life.status.answers["s-a"].geo is None
    assert paths(life.refuses(AnswerStep(step_id="s-b", value=True), AnswerInvalid)) == ["geo"]
    for step_id in ("s-unknown", "s-read", "nonsense"):
        for command in (
            AnswerStep(step_id=step_id, value=True),
            ClearAnswer(step_id=step_id),
            SkipStep(step_id=step_id),
        ):
            life.refuses(command, NotFound)


def test_an_inapplicable_step_takes_no_answer_and_no_skip_and_leaves_at_completion() -> None:
    hidden = [step(name, required=name == "b", condition=WHEN_A_IS_FALSE) for name in ("b", "c")]
    life = Life(checklist(step("a"), *hidden, allow_skip=True))
    life.answers("a", True)
    for command in (AnswerStep(step_id="s-b", value=True), SkipStep(step_id="s-c")):
        (path,) = paths(life.refuses(command, AnswerInvalid))
        assert path == command.step_id
    life.answers("a", False)
    life.answers("b")
    life.does(SkipStep(step_id="s-c"))
    assert life.progress == (3, 2, 1)
    life.answers("a", True)
    assert life.progress == (1, 1, 0)
    life.answers("a", False)
    assert (life.status.answers["s-b"].value, life.progress) == (True, (3, 2, 1))
    life.answers("a", True)
    life.does(Submit())  # a required step that does not apply is no gap
    assert (list(life.status.answers), life.status.skipped_steps) == (["s-a"], [])
    assert (life.status.phase, life.progress) == (RunPhase.COMPLETED, (1, 1, 0))


def test_all_answers_together_may_not_outgrow_what_the_cluster_can_hold() -> None:
    steps = [step(str(number), "text", config={"multiline": True}) for number in range(60)]
    life = Life(checklist(*steps), events=None)
    with pytest.raises(AnswerInvalid) as caught:
        for number in range(60):
            life.answers(str(number), "\N{SNOWMAN}" * 4000)
    assert paths(caught.value) == ["value"]
    assert 40 < len(life.status.answers) < 44  # 12 KB each, 512 KiB together


def test_a_skip_starts_the_run_takes_back_the_answer_and_is_taken_back_by_an_answer_or_a_clear() -> None:
    life = Life(checklist(step("a"), allow_skip=True))
    life.does(SkipStep(step_id="s-a"))
    assert (life.status.phase, life.status.started_at) == (RunPhase.IN_PROGRESS, NOW)
    assert not life.does(SkipStep(step_id="s-a")).changes_anything
    assert life.events == [EventName.STEP_SKIPPED]
    life.answers("a")
    assert life.status.skipped_steps == []
    life.does(SkipStep(step_id="s-a"))
    assert (life.status.answers, life.status.skipped_steps, life.progress) == ({}, ["s-a"], (1, 0, 1))
    life.does(ClearAnswer(step_id="s-a"))
    assert life.status.skipped_steps == []
    life.answers("a")
    made = len(life.events)
    life.does(ClearAnswer(step_id="s-a"))
    assert (life.status.answers, life.progress, len(life.events)) == ({}, (1, 0, 0), made)
    assert not life.does(ClearAnswer(step_id="s-a")).changes_anything


def test_only_an_optional_step_of_a_checklist_that_allows_it_is_skipped() -> None:
    for required, allow_skip in ((True, True), (False, False), (True, False)):
        life = Life(checklist(step("a", required=required), allow_skip=allow_skip))
        life.refuses(SkipStep(step_id="s-a"), AnswerInvalid)


def test_an_external_executor_gives_an_identity_before_anything_else() -> None:
    life = Life(checklist(step("a"), identity="external", allow_skip=True))
    assert not life.does(Open(op_id="1")).changes_anything
    for command in (AnswerStep(step_id="s-a", value=True), SkipStep(step_id="s-a"), Submit()):
        assert paths(life.refuses(command, ValidationFailed)) == ["identity"]
    life.does(GiveIdentity(name="Ada", email="ada@example.com"))
    assert life.status.phase is RunPhase.PENDING
    life.answers("a")
    assert life.status.identity is not None
    assert life.status.identity.email == "ada@example.com"
    anonymous = Life(checklist(step("a")))
    anonymous.does(Open(by=MEMBER))
    assert (anonymous.status.assigned_to, anonymous.status.identity) == (None, None)
    anonymous.refuses(GiveIdentity(name="Ada", email="ada@example.com"), ValidationFailed)


def test_the_first_member_who_opens_the_run_is_the_one_it_is_assigned_to() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.does(Open(by=MEMBER))
    assert life.status.phase is RunPhase.PENDING
    for command in (Open(by="u-other"), AnswerStep(step_id="s-a", value=True, by="u-other"), Cancel(by="u-other")):
        life.refuses(command, AssignedToAnother)
    assert life.status.assigned_to == MEMBER
    life.answers("a", by=MEMBER)
    life.does(Cancel(reason="cancelled_by_owner"))
    assert (life.status.phase, life.status.cancelled_at) == (RunPhase.CANCELLED, NOW)
    assert (life.status.cancel_reason, list(life.status.answers)) == ("cancelled_by_owner", ["s-a"])
    assert (life.events[-1], life.status.assigned_to) == (EventName.RUN_CANCELLED, MEMBER)


def test_only_a_member_answers_a_member_run_and_the_first_write_assigns_it_as_opening_does() -> None:
    life = Life(checklist(step("a"), identity="member"))
    life.refuses(AnswerStep(step_id="s-a", value=True), ValidationFailed)
    life.answers("a", by=MEMBER, op_id="1")
    assert life.status.answers["s-a"].by == life.status.assigned_to == MEMBER
    assert life.status.identity == ExecutorIdentity(user_id=MEMBER)
    # Neither a replay nor the end of the run tells another member anything.
    life.refuses(AnswerStep(step_id="s-a", value=True, by="u-other", op_id="1"), AssignedToAnother)
    life.does(Submit(by=MEMBER))
    life.refuses(Open(by="u-other"), AssignedToAnother)


def test_submit_names_every_gap_at_once_and_then_completes_the_run_with_its_signature() -> None:
    proof = step("d", photo={"min": 1, "max": 2}, required=True)
    steps = [step("a", required=True), step("b"), step("c", required=True), proof]
    life = Life(checklist(*steps, signature_on_complete=True))
    life.answers("d")  # without its photo it is kept, and is no completed step
    assert (life.status.answers["s-d"].value, life.events, life.progress) == (True, [], (4, 0, 0))
    assert paths(life.refuses(Submit(), RequiredStepsMissing)) == ["s-a", "s-c", "s-d", "signature"]
    life.answers("a")
    life.answers("c")
    photo = PhotoRef(key="k", content_type="image/png", bytes=1, sha256="0", width=1, height=1)
    life.does(AddPhoto(step_id="s-d", photo=photo))
    later = NOW + timedelta(minutes=5)
    life.does(Submit(signature_name="Ada Lovelace"), later)
    assert (life.status.phase, life.status.completed_at) == (RunPhase.COMPLETED, later)
    assert life.events == [*[EventName.STEP_COMPLETED] * 3, EventName.RUN_COMPLETED]
    condition = life.status.conditions[0]
    assert (condition.type, condition.status, condition.observed_generation) == ("Completed", "True", 4)
    assert life.status.signature is not None
    assert (life.status.signature.name, life.status.signature.signed_at) == ("Ada Lovelace", later)


@pytest.mark.parametrize("started", [False, True])
def test_a_run_expires_once_at_its_instant_with_its_true_progress(started: bool) -> None:
    life = Life(checklist(step("a"), step("b")), expires_at=NOW + timedelta(hours=1))
    if started:
        life.answers("a")
    assert not life.does(Expire(), NOW + timedelta(minutes=59)).changes_anything
    late = NOW + timedelta(hours=3)
    life.does(Expire(), late)
    assert not life.does(Expire(), late).changes_anything
    assert life.status.phase is RunPhase.EXPIRED
    assert life.events == [*([EventName.STEP_COMPLETED] if started else []), EventName.RUN_EXPIRED]
    assert life.status.outbox[-1].ts == NOW + timedelta(hours=1)
    assert life.progress == (2, int(started), 0)


def test_expiry_holds_for_writers_before_the_operator_has_seen_it() -> None:
    life = Life(checklist(step("a")), expires_at=NOW)
    for command in (AnswerStep(step_id="s-a", value=True), Submit(), Cancel(), ClearAnswer(step_id="s-a")):
        life.refuses(command, RunExpired)
    life.answers("a", at=NOW - timedelta(milliseconds=1))


@pytest.mark.parametrize("closing", [Submit(), Cancel()])
def test_a_closed_run_takes_no_more_changes_and_does_not_expire_but_can_be_opened(closing: Command) -> None:
    life = Life(checklist(step("a"), allow_skip=True), expires_at=NOW + timedelta(hours=1))
    removal = RemovePhotos(step_id="s-a")
    life.does(closing)
    if isinstance(closing, Submit):  # nothing is required, so it was submitted from pending
        assert life.status.started_at == life.status.completed_at == NOW
    for at in (NOW, NOW + timedelta(days=1)):
        for command in (AnswerStep(step_id="s-a", value=True), SkipStep(step_id="s-a"), removal, Submit(), Cancel()):
            life.refuses(command, RunClosed, at)
        assert not life.does(Open(by=MEMBER), at).changes_anything
        assert not life.does(Expire(), at).changes_anything


def test_an_op_id_used_for_another_command_is_refused_but_not_that_of_a_refused_command() -> None:
    life = Life(checklist(step("a", required=True), step("b")))
    life.refuses(Submit(op_id="2"), RequiredStepsMissing)
    life.answers("a", True, op_id="1")
    life.refuses(AnswerStep(step_id="s-a", value=False, op_id="1"), IdempotencyKeyReused)
    life.refuses(AnswerStep(step_id="s-b", value=True, op_id="1"), IdempotencyKeyReused)
    life.refuses(ClearAnswer(step_id="s-a", op_id="1"), IdempotencyKeyReused)
    assert not life.does(Submit(op_id="2")).repeated


def test_only_subscribed_events_are_recorded_and_a_run_without_any_settles_at_once() -> None:
    for events, recorded, settled in ((None, [], True), (["run.completed"], [(1, EventName.RUN_COMPLETED)], None)):
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


@pytest.mark.parametrize("character", ["a", "<", '"', "\u2028", "\N{SNOWMAN}"])
def test_texts_fit_into_the_cluster_whatever_they_consist_of(character: str) -> None:
    """etcd takes 1.5 MiB, and the Kubernetes API writes some characters as six."""
    life = Life(checklist(*(step(f"{number}", "text", config={"multiline": True}) for number in range(300))))
    text, accepted = character * 4000, 0
    with contextlib.suppress(AnswerInvalid, ServiceUnavailable):
        for accepted in range(300):
            life.does(AnswerStep(step_id=f"s-{accepted}", value=text, note=text[:2000]))
    assert accepted > 5
    escaped = json.dumps(life.status.to_kube(), ensure_ascii=False).translate(
        dict.fromkeys(map(ord, "<>&\u2028"), "6" * 6)
    )
    assert len(escaped.encode()) < 1_000_000
    life.does(Submit())


@pytest.mark.parametrize(
    ("count", "text"),
    # Measured in bytes as the cluster stores them: 1000 snowmen of 3 bytes in each.
    [(MAX_OUTBOX_ENTRIES, None), (MAX_OUTBOX_BYTES // 3000 + 1, "\N{SNOWMAN}" * 1000)],
    ids=["entries", "bytes"],
)
def test_a_full_outbox_refuses_answers_but_not_the_end(count: int, text: str | None) -> None:
    life = Life(checklist(step("a")))
    waiting = [
        OutboxEntry(seq=number + 1, event=EventName.STEP_COMPLETED, event_id="evt-x", ts=NOW, encoded=text)
        for number in range(count)
    ]
    life.update(outbox=waiting, seq=count)
    error = life.refuses(AnswerStep(step_id="s-a", value=True), ServiceUnavailable)
    assert int(error.headers["Retry-After"]) >= 1
    # In a batch, what was decided is written, and nothing overtakes what has to wait.
    asked = [ClearAnswer(step_id="s-a", op_id="1"), AnswerStep(step_id="s-a", value=True), Submit()]
    assert [each.repeated for each in decide_in_turn(life.run, life.definition, asked, NOW).outcomes] == [False]  # type: ignore[union-attr]
    refused = decide_in_turn(life.run, life.definition, asked[1:], NOW)
    assert ([type(each) for each in refused.outcomes], refused.decision.changes_anything) == (
        [ServiceUnavailable] * 2,
        False,
    )
    life.does(Submit())
    assert life.status.outbox[-1].seq == count + 1
