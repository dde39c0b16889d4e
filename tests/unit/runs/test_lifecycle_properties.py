"""What holds for every life of a run, whatever is asked of it and in whatever order."""

from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.runs.test_lifecycle import NOW, Life, checklist, diff_of, stored

from checklist_crds.errors import ServiceError
from checklist_crds.resources.run import Geo, PhotoRef, Run, RunPhase, RunStatus
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.batch import decide_in_turn
from checklist_crds.runs.commands import (
    AddPhoto,
    AnswerStep,
    Cancel,
    ClearAnswer,
    Command,
    DrawSignature,
    Expire,
    GiveIdentity,
    Open,
    RemovePhotos,
    SkipStep,
    Submit,
)
from checklist_crds.runs.events import EventName
from checklist_crds.runs.lifecycle import Decision, decide
from checklist_crds.runs.photos import bytes_ever, keys_in_use, photos_of
from checklist_crds.templates.conditions import applicable_step_ids
from checklist_crds.templates.conditions import progress as count_progress
from checklist_crds.values import merge_patch

EXPIRES = NOW + timedelta(minutes=30)


def _when(step: str, value: Any) -> dict[str, Any]:
    return {"when": {"step": step, "op": "eq", "value": value}}


STEPS = [
    {"id": "s-ok", "type": "boolean", "label": "All right?", "required": True},
    {"id": "s-why", "type": "text", "label": "Why?", "required": True, "condition": _when("s-ok", False)},
    {"id": "s-note", "type": "text", "label": "Note", "geo": True, "condition": _when("s-why", "x")},
    {"id": "s-read", "type": "instruction", "label": "Read this"},
    {"id": "s-count", "type": "number", "label": "How many?"},
    {"id": "s-photo", "type": "photo", "label": "Photo", "config": {"min": 2, "max": 3}},
    {"id": "s-proof", "type": "boolean", "label": "Proof", "photo": {"min": 1, "max": 2}},
    {"id": "s-sign", "type": "signature", "label": "Sign here"},
]
STEP_IDS = [step["id"] for step in STEPS] + ["s-unknown"]

op_ids = st.none() | st.sampled_from("abcdefgh")
step_ids = st.sampled_from(STEP_IDS)
values = st.sampled_from([True, False, "x", "", 3, 2.5, None, []])
places = st.none() | st.just(Geo(lat=1, lng=2))
photos = st.tuples(st.uuids(version=4).map(str), st.integers(1, 10_000_000)).map(
    lambda made: PhotoRef(key=made[0], bytes=made[1], content_type="image/jpeg", sha256="ab", width=4, height=3)
)
photo_step_ids = st.sampled_from(["s-photo", "s-photo", "s-proof", "s-sign", "s-ok", "s-unknown"])
answer_commands = st.builds(AnswerStep, step_id=step_ids, value=values, geo=places, op_id=op_ids)
commands: st.SearchStrategy[Command] = st.one_of(
    *[answer_commands] * 3,
    st.builds(AnswerStep, step_id=st.just("s-ok"), value=st.booleans(), op_id=op_ids),
    *[st.builds(AddPhoto, step_id=photo_step_ids, photo=photos, op_id=op_ids)] * 2,
    st.builds(RemovePhotos, step_id=photo_step_ids, photo_index=st.none() | st.integers(0, 4), op_id=op_ids),
    st.builds(DrawSignature, photo=st.none() | photos, op_id=op_ids),
    st.builds(AnswerStep, step_id=st.just("s-sign"), value=st.just({"name": "Ada"}), op_id=op_ids),
    st.builds(SkipStep, step_id=step_ids, op_id=op_ids),
    st.builds(ClearAnswer, step_id=step_ids, op_id=op_ids),
    st.builds(GiveIdentity, name=st.just("Ada"), email=st.just("ada@example.com"), op_id=op_ids),
    st.builds(Open, op_id=op_ids),
    st.builds(Submit, op_id=op_ids, signature_name=st.none() | st.just("Ada")),
    st.builds(Cancel, op_id=op_ids, reason=st.none() | st.just("late")),
    st.builds(Expire),
)
stories = st.lists(st.tuples(commands, st.integers(0, 3)), max_size=40)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Run, Definition]:
    identity = draw(st.sampled_from(["none", "none", "external"]))
    flags = {"allow_skip": draw(st.booleans()), "signature_on_complete": draw(st.booleans())}
    definition = checklist(*STEPS, identity=identity, **flags)
    events = draw(st.sampled_from([["*"], ["run.completed", "step.skipped"], None]))
    return Life(definition, events=events, expires_at=draw(st.sampled_from([None, EXPIRES]))).run, definition


def of_others(status: RunStatus, step_id: str) -> tuple[dict[str, Any], list[str]]:
    """Answers to other steps than this one, and which of them are skipped."""
    answers = {other: answer for other, answer in status.answers.items() if other != step_id}
    return answers, [other for other in status.skipped_steps if other != step_id]


@settings(max_examples=100)
@given(runs(), stories)
def test_no_story_breaks_the_rules_of_a_run(made: tuple[Run, Definition], story: list[tuple[Command, int]]) -> None:
    run, definition = made
    now = NOW
    applied: list[Command] = []
    indexes: dict[tuple[str, int], str] = {}
    revisions: dict[str, int] = {}
    for command, minutes in story:
        now += timedelta(minutes=minutes)
        before = run.status
        try:
            decision = decide(run, definition, command, now)
        except ServiceError as error:
            assert 400 <= error.status < 500
            assert run.status == before
            continue
        after = decision.after
        assert decision.before == before

        # What is written is exactly what was decided, and reads back the same.
        patched = merge_patch.apply(before.to_kube(), diff_of(decision))
        assert patched == after.to_kube()
        assert decision.changes_anything is bool(diff_of(decision))
        assert stored(after) == after

        # What is done to one step is done to no other.
        if isinstance(command, AnswerStep | ClearAnswer | SkipStep | AddPhoto | RemovePhotos):
            assert of_others(after, command.step_id) == of_others(before, command.step_id)

        # Whatever was stored is counted, and stays so when it is taken away.
        drawn = command.photo if isinstance(command, AddPhoto | DrawSignature) and not decision.repeated else None
        assert bytes_ever(after) == bytes_ever(before) + (drawn.bytes if drawn else 0)

        # A final phase is final, and nothing happens after the link's last instant but expiry.
        if before.phase.is_final:
            assert not decision.changes_anything
        if (
            run.expires_at is not None
            and now >= run.expires_at
            and not before.phase.is_final
            and decision.changes_anything
        ):
            assert after.phase is RunPhase.EXPIRED
        assert after.phase is not RunPhase.PENDING or before.phase is RunPhase.PENDING

        # One event per change at most, numbered without a gap, and only subscribed ones.
        new = after.outbox[len(before.outbox) :]
        assert after.outbox[: len(before.outbox)] == before.outbox
        assert len(new) <= 1
        assert [entry.seq for entry in after.outbox] == list(range(1, after.seq + 1))
        assert all(run.spec.webhook is not None and run.spec.webhook.wants(entry.event) for entry in after.outbox)
        if before.phase is not after.phase and after.phase.is_final and run.spec.webhook:
            ends = {EventName.RUN_COMPLETED, EventName.RUN_CANCELLED, EventName.RUN_EXPIRED}
            wanted = any(run.spec.webhook.wants(end) and end.value == f"run.{after.phase.rest}" for end in ends)
            assert [entry.event for entry in new] == ([EventName(f"run.{after.phase.rest}")] if wanted else [])

        # Progress tells the truth about the answers.
        run = replace(run, status=stored(after))
        counted = count_progress(definition, after.answers, after.skipped_steps)
        if after.progress is not None:
            assert after.progress.model_dump() == asdict(counted)
            assert counted.answered + counted.skipped <= counted.total
        assert not set(after.answers) & set(after.skipped_steps)
        assert "s-read" not in after.answers

        # A completed run has no gaps and nothing that does not apply.
        if after.phase is RunPhase.COMPLETED:
            applicable = applicable_step_ids(definition, after.answers, after.skipped_steps)
            assert set(after.answers) | set(after.skipped_steps) <= applicable
            assert "s-ok" in after.answers

        # An index names one photo for ever; bounds hold; what is shown or still to be sent is kept by the store.
        for step_id, answer in after.answers.items():
            for photo in answer.photos:
                assert indexes.setdefault((step_id, photo.index), photo.key) == photo.key
            assert [photo.index for photo in answer.photos] == sorted({photo.index for photo in answer.photos})
            assert len(answer.photos) <= {"s-photo": 3, "s-proof": 2}.get(step_id, 0)
            assert answer.drawing is None or step_id == "s-sign"
        assert {photo.key for photo in photos_of(after)} <= keys_in_use(after)

        # Revisions of a step's events rise by one, from one on.
        for entry in new:
            if entry.event is EventName.STEP_COMPLETED:
                step_id = entry.frozen["step_id"]
                if "*" in run.spec.webhook.events:  # type: ignore[union-attr]
                    assert entry.frozen["revision"] == revisions.get(step_id, 0) + 1
                revisions[step_id] = entry.frozen["revision"]

        # Whatever was accepted can be sent again, now and after all that follows.
        if command.op_id and not isinstance(command, Open):
            applied.append(command)
        for old in applied:
            again = decide(run, definition, old, now + timedelta(days=1))
            assert again.repeated
            assert not again.changes_anything


@settings(max_examples=100)
@given(runs(), st.lists(commands, min_size=1, max_size=30), st.integers(0, 30), st.integers(0, 600))
def test_batch_equals_singles(made: tuple[Run, Definition], asked: list[Command], half: int, max_added: int) -> None:
    run, definition = made

    def singly(run: Run, asked: list[Command]) -> tuple[Run, list[Any]]:
        results: list[Any] = []
        for command in asked:
            try:
                decision = decide(run, definition, command, NOW)
                run, results = replace(run, status=stored(decision.after)), [*results, decision.repeated]
            except ServiceError as error:
                results.append(error.as_body())
        return run, results

    # Half of the batch may have come before; without its caller's knowledge.
    run, before = singly(run, asked[:half])
    expected, results = singly(run, asked)
    heard: list[Any] = []
    while len(heard) < len(asked):
        batch = decide_in_turn(run, definition, asked[len(heard) :], NOW, max_added=max_added)
        patched = merge_patch.apply(run.status.to_kube(), diff_of(batch.decision))
        run = replace(run, status=RunStatus.model_validate(patched))
        written = [each for each in batch.outcomes if isinstance(each, Decision) and each.changes_anything]
        added = batch.decision.after.outbox[len(batch.decision.before.outbox) :]
        assert len(written) <= 1 or sum(len(entry.encoded or "") for entry in added) <= max_added
        heard += [each.as_body() if isinstance(each, ServiceError) else each.repeated for each in batch.outcomes]
        assert batch.decision.repeated is all(replayed is True for replayed in heard[-len(batch.outcomes) :])
    assert run.status == expected.status
    assert heard == results
    for command, first, again in zip(asked, before, heard, strict=False):
        assert first is not False or again is True or not command.op_id or isinstance(command, Open)
