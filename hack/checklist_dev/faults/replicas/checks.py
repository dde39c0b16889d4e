"""The guarantees, each a pure function of the history.

An answer of a run is a register, written with unique values, so that every read identifies the write it saw. A read
must not see a write that another acknowledged one had replaced before the read began, and must not miss all of them.
Requests without an answer may have been done or not.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from checklist_dev.faults.replicas.history import FinalState, History, Op
from checklist_dev.perf.judgement.facts import Finding

Check = Callable[[History, FinalState], Finding]


def no_acknowledged_answer_is_lost(history: History, _: FinalState) -> Finding:
    violations: list[str] = []
    checked = 0
    reads_of = history.by_subject("read")
    for run, writes in history.by_subject("answer").items():
        of_step: defaultdict[str, list[Op]] = defaultdict(list)
        for write in writes:
            of_step[write.wrote[0]].append(write)
        for read in reads_of.get(run, ()):
            if not read.ok:
                violations += [f"{run}: a read was answered with {read.status}"] * (not read.uncertain)
                continue
            for step, candidates in of_step.items():
                checked += 1
                value = read.read["answers"].get(step)
                problem = _impossible(value, read, candidates)
                if problem:
                    violations.append(f"{run} {step}: {problem}")
    return Finding("no acknowledged answer is lost, and no replaced one is seen", checked, violations)


def _impossible(value: Any, read: Op, writes: Iterable[Op]) -> str | None:
    """Why the read cannot have seen this value, or None. `value` None: no write."""
    known = [write for write in writes if write.ok and write.ended < read.began]
    if value is None:
        return f"reads nothing, but {known[0].wrote[1]} was acknowledged before" if known else None
    seen = [write for write in writes if write.wrote[1] == value]
    if not seen:
        return f"reads {value}, which was never written"
    if not any(write.ok or write.uncertain for write in seen):
        return f"reads {value}, which was refused"
    if min(write.began for write in seen) > read.ended:
        return f"reads {value} before it was sent"
    last = max(write.ended for write in seen)
    newer = [write for write in known if write.began > last]
    return f"reads {value}, which {newer[0].wrote[1]} had replaced" if newer else None


def a_repeated_answer_changes_nothing(history: History, _: FinalState) -> Finding:
    """A repetition is answered as such, also by another replica."""
    repeats = list(history.of("repeat"))
    violations = [
        f"{op.subject}: {op.wrote} again was answered with {op.status}, replayed: {op.read}"
        for op in repeats
        if not op.uncertain and not (op.ok and op.read is True)
    ]
    return Finding("a repeated answer changes nothing, on any replica", len(repeats), violations)


def a_run_ends_once_and_takes_nothing_afterwards(history: History, _: FinalState) -> Finding:
    violations: list[str] = []
    ends_of = history.by_subject("end")
    answers, reads = history.by_subject("answer"), history.by_subject("read")
    for run, ends in ends_of.items():
        done = [end for end in ends if end.ok]
        # A cancelled run may be cancelled again without effect. Completed and cancelled is wrong.
        if len({end.wrote for end in done}) > 1:
            violations.append(f"{run}: ended as {sorted({end.wrote for end in done})}")
        if not done or any(end.uncertain for end in ends):
            continue
        ended = min(end.ended for end in done)
        late = [one for one in answers.get(run, ()) if one.ok and one.began > ended]
        violations += [f"{run}: took {one.wrote} after it had ended" for one in late]
        for read in reads.get(run, ()):
            if read.ok and read.began > ended and read.read["status"] != done[0].wrote:
                violations.append(f"{run}: reads {read.read['status']} after it was {done[0].wrote}")
    return Finding("a run ends once, and takes nothing afterwards", len(ends_of), violations)


def no_increment_of_a_template_is_lost(history: History, _: FinalState) -> Finding:
    """Clients read a number and write its successor with If-Match; others change the name unconditionally."""
    violations: list[str] = []
    checked = 0
    reads_of = history.by_subject("template")
    for template, ops in history.by_subject("increment", "rename").items():
        done = [op for op in ops if op.ok]
        unsure = sum(op.uncertain for op in ops)
        checked += len(done)
        versions = sorted(op.read["v"] for op in done)
        violations += [f"{template}: v {v} was given twice" for v, times in Counter(versions).items() if times > 1]
        gaps = sum(after - before - 1 for before, after in pairwise([1, *versions]) if after > before)
        if gaps > unsure:
            violations.append(f"{template}: {gaps} versions were in no answer")
        for op in done:
            if op.kind == "increment" and op.read["v"] != op.wrote[0] + 1:
                violations.append(f"{template}: If-Match {op.wrote[0]} made v {op.read['v']}")
        increments = [op for op in done if op.kind == "increment"]
        last = max((read for read in reads_of[template] if read.ok), key=lambda read: read.began)
        low, high = len(increments), len(increments) + unsure
        if not low <= int(last.read["number"]) <= high:
            violations.append(f"{template}: counts {last.read['number']}, {low} increments were acknowledged")
        for read in reads_of[template]:
            if not read.ok:
                violations += [f"{template}: a read was answered with {read.status}"] * (not read.uncertain)
                continue
            # Other replicas may see it a moment later, since a watch updates their caches.
            seen = (op for op in [*done, *reads_of[template]] if op.ok and op.replica == read.replica)
            newest = max((op.read["v"] for op in seen if op.ended < read.began), default=1)
            if read.read["v"] < newest:
                violations.append(f"{template}: replica {read.replica} reads v {read.read['v']} after v {newest}")
    return Finding("no change of a template is lost, and v has no gap", checked, violations)


def a_key_of_idempotency_makes_one_run(history: History, _: FinalState) -> Finding:
    violations: list[str] = []
    owners: dict[str, str] = {}
    keys = history.by_subject("dispatch")
    for key, ops in keys.items():
        runs = {op.read for op in ops if op.ok}
        if len(runs) > 1:
            violations.append(f"{key}: made {sorted(runs)}")
        for run in runs:
            if owners.setdefault(run, key) != key:
                violations.append(f"{run}: belongs to {key} and to {owners[run]}")
    return Finding("an Idempotency-Key makes one run, on all replicas", len(keys), violations)


def what_was_dispatched_is_there_and_counted(history: History, final: FinalState) -> Finding:
    """All acknowledged runs exist and no others, up to the plan's limit."""
    violations: list[str] = []
    dispatches = list(history.of("dispatch"))
    made = {op.read for op in dispatches if op.ok}
    answered = {op.subject for op in dispatches if not op.uncertain}
    unsure = len({op.subject for op in dispatches} - answered)
    violations += [f"{run}: acknowledged, but missing" for run in sorted(made - final.runs)]
    strangers = final.runs - made
    if len(strangers) > unsure:
        violations += [f"{run}: was in no answer" for run in sorted(strangers)]
    if final.used != len(final.runs):
        violations.append(f"{final.used} are counted, {len(final.runs)} were created")
    if final.used > final.limit:
        violations.append(f"{final.used} are counted, the plan allows {final.limit}")
    # One without an answer (503: the cluster did not answer) is counted until it is known to have created no run.
    unanswered = any(op.uncertain for op in dispatches)
    if not unanswered and any(op.status == 402 for op in dispatches) and final.used < final.limit:
        violations.append(f"refused, with {final.used} of {final.limit} used")
    for number, listed in enumerate(final.listed):
        if listed != final.runs:
            violations.append(f"replica {number} lists {len(listed)} runs, there are {len(final.runs)}")
    return Finding("every acknowledged dispatch exists, is listed by all, and counted exactly", len(made), violations)


def one_s_own_run_is_seen_at_once(history: History, _: FinalState) -> Finding:
    """A new run is in the next list of the same replica."""
    lists = [op for op in history.of("list") if op.wrote is not None]
    violations = [
        f"replica {op.replica}: {op.wrote} is not in the list requested after it was created"
        for op in lists
        if op.ok and op.wrote not in op.read
    ]
    return Finding("a new run is in the next list", len(lists), violations)


def a_key_opens_every_replica_until_it_is_revoked(history: History, final: FinalState) -> Finding:
    violations: list[str] = []
    revocations = {op.subject: op for op in history.of("revoke") if op.ok}
    uses = history.by_subject("use")
    for key, ops in uses.items():
        revoked = revocations.get(key)
        for op in ops:
            if op.status != 200 and not op.uncertain and (revoked is None or op.ended < revoked.began):
                violations.append(f"{key}: replica {op.replica} answered {op.status} before it was revoked")
        shut: set[int] = set()
        for op in sorted(ops, key=lambda one: one.began):
            if op.status == 401:
                shut.add(op.replica)
            elif op.ok and op.replica in shut:
                violations.append(f"{key}: opens replica {op.replica} again")
    for key in revocations:
        if set(final.key_statuses.get(key, ())) != {401}:
            violations.append(f"{key}: revoked, and answered with {final.key_statuses.get(key)}")
    return Finding("a key is valid on every replica until it is revoked, and never again", len(uses), violations)


def no_request_fails(history: History, _: FinalState) -> Finding:
    failed = [f"{op.kind} {op.subject}: {op.status}" for op in history.ops if op.status == 500]
    return Finding("no request is answered with 500", len(history.ops), failed)


CHECKS: Sequence[Check] = (
    no_acknowledged_answer_is_lost,
    a_repeated_answer_changes_nothing,
    a_run_ends_once_and_takes_nothing_afterwards,
    no_increment_of_a_template_is_lost,
    a_key_of_idempotency_makes_one_run,
    what_was_dispatched_is_there_and_counted,
    one_s_own_run_is_seen_at_once,
    a_key_opens_every_replica_until_it_is_revoked,
    no_request_fails,
)


def check_all(history: History, final: FinalState) -> list[Finding]:
    return [check(history, final) for check in CHECKS]
