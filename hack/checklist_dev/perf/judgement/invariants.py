"""The guarantees, each a pure check of the facts. Explained in docs/benchmarks.md, "Chaos"."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from checklist_crds.ids import derived_id
from checklist_crds.limits.quota import period_of
from checklist_crds.resources.delivery import MAX_ATTEMPTS
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.run import Run
from checklist_dev.perf.judgement.facts import Facts, Finding
from checklist_dev.perf.load.ledger import ExpectedEvent, RunRecord
from checklist_dev.perf.load.received import ANSWER_WITHIN_S, Transmission
from checklist_operator.attempts.envelopes import THUMBNAILS_DROPPED

_ADDRESSES: Final = frozenset({"url", "thumbnail_url"})
_OF_ONE_ATTEMPT: Final = frozenset({"delivery_attempt", "thumbnail", THUMBNAILS_DROPPED})
TIMER_TOLERANCE_S = 0.02
"""Two processes measure the two ends of a gap."""


def every_change_has_its_event(facts: Facts) -> Finding:
    """Each acknowledged answer, skip, submit, cancel and each expiry is an event of its run, in order."""
    violations, checked = [], 0
    for record in facts.records:
        run = facts.state.runs.get(record.run_id)
        if run is None:
            violations.append(f"{record.run_id}: dispatched, acknowledged, but missing")
            continue
        found = _events_of(run)
        expected = record.expected_events()
        checked += len(expected)
        if not _same_events(found, expected):
            wanted = [event.kind for event in expected]
            violations.append(f"{record.run_id}: events {found}, acknowledged {wanted} (status.seq {run.status.seq})")
    return Finding("every acknowledged change has its event, in order", checked, violations)


def _events_of(run: Run) -> list[str]:
    """The kind of seq 1, 2, 3 ...; `?` for an unknown number."""
    kinds = {entry.seq: entry.event.value for entry in run.status.outbox}
    kinds |= {delivery.seq: delivery.event.value for delivery in run.status.delivery_records}
    return [kinds.get(seq, "?") for seq in range(1, max([run.status.seq, *kinds]) + 1)]


def _same_events(found: Sequence[str], expected: Sequence[ExpectedEvent]) -> bool:
    certain = [event.kind for event in expected if not event.uncertain]
    return list(found) in (certain, [event.kind for event in expected])


def every_event_is_delivered_or_failed(facts: Facts) -> Finding:
    """Delivered: the receiver answered 2xx. Failed: exactly five attempts, and the receiver got each of them."""
    violations, checked = [], 0
    for record, run, delivery in facts.events():
        checked += 1
        seen = facts.by_event.get(delivery.event_id, ())
        numbers = {transmission.attempt for transmission in seen}
        where = f"{run.id} seq {delivery.seq} {delivery.event_id}"
        match delivery.phase:
            case DeliveryPhase.DELIVERED:
                if not any(transmission.succeeded for transmission in seen):
                    violations.append(f"{where}: recorded as delivered, but the receiver never answered 2xx")
            case DeliveryPhase.FAILED:
                history = facts.state.deliveries.get(delivery.event_id)
                made = sorted({attempt.number for attempt in history.attempts}) if history else []
                if delivery.attempts != MAX_ATTEMPTS or made != [1, 2, 3, 4, 5]:
                    violations.append(f"{where}: failed after {delivery.attempts} attempts, history {made}")
                elif record.plan.behaviour != "refused" and numbers != {1, 2, 3, 4, 5}:
                    violations.append(f"{where}: failed, but the receiver got only the attempts {sorted(numbers)}")
            case phase:
                violations.append(f"{where}: still {phase.value}")
    waiting = [run for run in facts.state.runs.values() if run.status.outbox]
    violations += [f"{run.id}: {len(run.status.outbox)} events never left the outbox" for run in waiting]
    return Finding("every event is delivered, or failed after exactly five attempts", checked, violations)


def nothing_uncommitted_was_sent(facts: Facts) -> Finding:
    """Each transmission is an event of a run in the cluster, with the acknowledged content."""
    records = {record.run_id: record for record in facts.records}
    violations = []
    for event_id, sent in facts.by_event.items():
        first = sent[0]
        record, run = records.get(first.run_id), facts.state.runs.get(first.run_id)
        if record is None or run is None:
            violations.append(f"{event_id}: sent for the unknown run {first.run_id!r}")
            continue
        problem = _problem_of(first, record, run)
        if problem:
            violations.append(f"{run.id} seq {first.seq} {event_id}: {problem}")
    return Finding("nothing was sent for a change that was not committed", len(facts.by_event), violations)


def _problem_of(sent: Transmission, record: RunRecord, run: Run) -> str | None:
    kinds = _events_of(run)
    if not 1 <= sent.seq <= len(kinds) or kinds[sent.seq - 1] != sent.envelope.get("event"):
        return f"{sent.envelope.get('event')} was sent, the run has {kinds}"
    if sent.event_id != derived_id("evt", run.uid, str(sent.seq)):
        return "not the event id of this run and number"
    expected = record.expected_events()
    data = sent.envelope.get("data", {})
    sent_as = (data.get("step_id"), data.get("value"))
    content = sent_as if str(sent.envelope["event"]).startswith("step.") else (None, None)
    if len(expected) == len(kinds) and content != (expected[sent.seq - 1].step_id, expected[sent.seq - 1].value):
        return f"it contains {content}, acknowledged was {expected[sent.seq - 1]}"
    return None


def no_sixth_attempt(facts: Facts) -> Finding:
    violations = [
        f"{sent.run_id} {sent.event_id}: attempt number {sent.attempt}"
        for sent in facts.transmissions
        if not 1 <= sent.attempt <= MAX_ATTEMPTS
    ]
    violations += [
        f"{event_id}: {len(status.attempts)} attempts in its history"
        for event_id, status in facts.state.deliveries.items()
        if len(status.attempts) > MAX_ATTEMPTS
    ]
    return Finding("no attempt has a number above five", len(facts.transmissions), violations)


def one_event_id_per_event(facts: Facts) -> Finding:
    """(run, seq) and event_id identify each other, and every transmission of an event has the same content."""
    ids: dict[tuple[str, int], set[str]] = defaultdict(set)
    places: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for sent in facts.transmissions:
        ids[sent.run_id, sent.seq].add(sent.event_id)
        places[sent.event_id].add((sent.run_id, sent.seq))
    violations = [f"{run} seq {seq}: sent as {sorted(names)}" for (run, seq), names in ids.items() if len(names) > 1]
    violations += [f"{name}: belongs to {sorted(where)}" for name, where in places.items() if len(where) > 1]
    for event_id, sent_ones in facts.by_event.items():
        contents = [_lasting(sent.envelope) for sent in sent_ones]
        if any(before != after for before, after in pairwise(contents)):
            violations.append(f"{event_id}: its content changed between attempts")
    return Finding("one event_id per event, the same content on every attempt", len(ids), violations)


def _lasting(node: Any) -> Any:
    """The content that must not change between attempts: all but the number, signatures in photo URLs, and thumbnails,
    which are omitted if the store is slow."""
    if isinstance(node, dict):
        return {
            name: value.partition("?")[0] if name in _ADDRESSES and isinstance(value, str) else _lasting(value)
            for name, value in node.items()
            if name not in _OF_ONE_ATTEMPT
        }
    return [_lasting(item) for item in node] if isinstance(node, list) else node


def every_signature_is_valid(facts: Facts) -> Finding:
    """Verified by the published example with the run's secret and URL; nonces are unique."""
    records = {record.run_id: record for record in facts.records}
    violations = []
    for sent in facts.transmissions:
        record = records.get(sent.run_id)
        if record is not None:
            problem = sent.signature_problem(record.secret)
            if f"http://{sent.host}{sent.path}" != record.url:
                problem = f"sent to {sent.host}{sent.path}, wanted {record.url}"
            if problem:
                violations.append(f"{sent.run_id} {sent.event_id} attempt {sent.attempt}: {problem}")
    inputs = Counter(sent.headers.get("signature-input", "") for sent in facts.transmissions)
    violations += [f"signed twice with the same nonce: {text}" for text, times in inputs.items() if times > 1]
    return Finding("every signature is valid and nonces are unique", len(facts.transmissions), violations)


def a_number_repeats_only_after_a_crash(facts: Facts) -> Finding:
    """The same attempt is sent again only if the operator died since; so at most once per crash and event."""
    violations = []
    for event_id, sent_ones in facts.by_event.items():
        last: dict[int, Transmission] = {}
        for sent in sent_ones:
            before = last.get(sent.attempt)
            if before and not facts.operator_died_between(before.at, sent.at):
                gap = sent.at - before.at
                violations.append(f"{sent.run_id} {event_id}: attempt {sent.attempt} again after {gap:.2f} s, no crash")
            last[sent.attempt] = sent
    return Finding("an attempt is sent again only after a crash", len(facts.transmissions), violations)


def nothing_follows_a_success(facts: Facts) -> Finding:
    """After a 2xx in time, the event is sent again only if the operator died before recording it."""
    violations = []
    for event_id, sent_ones in facts.by_event.items():
        for before, after in pairwise(sent_ones):
            if before.succeeded and not facts.operator_died_between(before.at, after.at):
                violations.append(f"{after.run_id} {event_id}: sent again after 2xx (attempt {after.attempt})")
    return Finding("nothing follows a 2xx except after a crash", len(facts.by_event), violations)


def never_early(facts: Facts) -> Finding:
    """Attempt n+1 is sent no sooner than the gap after the end of attempt n; numbers have no gaps."""
    violations, checked = [], 0
    for event_id, sent_ones in facts.by_event.items():
        for before, after in pairwise(sent_ones):
            if after.attempt == before.attempt or before.attempt > len(facts.gaps):
                continue
            checked += 1
            if after.attempt != before.attempt + 1:
                violations.append(f"{after.run_id} {event_id}: attempt {after.attempt} follows {before.attempt}")
                continue
            ended = min(before.end, before.at + ANSWER_WITHIN_S)
            gap = facts.gaps[before.attempt - 1]
            if after.at - ended < gap - TIMER_TOLERANCE_S:
                early = f"{after.at - ended:.3f} s after {before.attempt}, the gap is {gap} s"
                violations.append(f"{after.run_id} {event_id}: attempt {after.attempt} was sent {early}")
    return Finding("no retry is early and numbers have no gaps", checked, violations)


def no_acknowledged_answer_is_gone(facts: Facts) -> Finding:
    violations, checked = [], 0
    for record in facts.records:
        violations += [f"{record.run_id}: {complaint}" for complaint in record.complaints]
        view = facts.views.get(record.run_id, {})
        values = {step_id: answer.get("value") for step_id, answer in (view.get("answers") or {}).items()}
        uncertain = {act.op.step_id for act in record.acts if act.uncertain}
        wanted = {step: value for step, value in record.answers().items() if step not in uncertain}
        checked += len(wanted)
        if {step: value for step, value in values.items() if step not in uncertain} != wanted:
            violations.append(f"{record.run_id}: reads {values}, acknowledged {wanted}")
        if view.get("status") != record.final_status:
            violations.append(f"{record.run_id}: is {view.get('status')}, acknowledged {record.final_status}")
    return Finding("no acknowledged answer is missing", checked, violations)


def quota_equals_runs_made(facts: Facts) -> Finding:
    quota = facts.state.quota
    dispatched = {record.run_id for record in facts.records}
    in_month = [run for run in facts.state.runs.values() if period_of(run.created_at) == quota.period]
    violations = []
    if quota.used != len(in_month):
        violations.append(f"quota used {quota.used}, runs created {len(in_month)}")
    violations += [f"{run_id}: still pending in the quota" for run_id in quota.pending]
    violations += [
        f"{run.id}: exists, but no dispatch was acknowledged"
        for run in facts.state.runs.values()
        if run.id not in dispatched and run.spec.executor_ref != facts.abandoned
    ]
    return Finding("quota used equals the runs created", quota.used, violations)


CHECKS: Sequence[Callable[[Facts], Finding]] = (
    every_change_has_its_event,
    every_event_is_delivered_or_failed,
    nothing_uncommitted_was_sent,
    no_sixth_attempt,
    one_event_id_per_event,
    every_signature_is_valid,
    a_number_repeats_only_after_a_crash,
    nothing_follows_a_success,
    never_early,
    no_acknowledged_answer_is_gone,
    quota_equals_runs_made,
)


def check_all(facts: Facts) -> list[Finding]:
    return [check(facts) for check in CHECKS]
