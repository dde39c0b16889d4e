"""Several commands on one run, decided one after the other and written together: an offline queue in one request.

Each command is decided on what the one before it left, by the same `decide` as if it had come alone, so status, events
and refusals are the same. What is written at once is bounded, so a batch may take several patches; none holds half a
command.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ..errors import ServiceError, ServiceUnavailable
from ..resources.run import Run, RunStatus
from ..resources.template_definition import Definition
from .commands import Command
from .lifecycle import Decision, decide

MAX_ADDED_BYTES: Final = 256 * 1024
"""Of answers and events that one patch may add; a single command may add more."""

Outcome = Decision | ServiceError


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """What becomes of the first `len(outcomes)` commands; the others are to be decided once this one is written."""

    decision: Decision
    """All of them together; `replayed` when each was applied before."""
    outcomes: tuple[Outcome, ...]
    """For each command what `decide` said of it: its decision, or why it was refused. Never empty."""


def decide_in_turn(
    run: Run, definition: Definition, commands: Sequence[Command], now: datetime, *, max_added: int = MAX_ADDED_BYTES
) -> BatchDecision:
    """Decide `commands` (at least one) in order, as many as one patch may hold.

    A refused command changes nothing and does not stop those after it. One that cannot be decided now
    (ServiceUnavailable, when too many events wait) does: the rest would overtake it, so it has the same outcome.
    """
    before, status, added = run.status, run.status, 0
    outcomes: list[Outcome] = []
    for command in commands:
        try:
            decision = decide(replace(run, status=status), definition, command, now)
        except ServiceUnavailable as error:
            if status is before:
                outcomes += [error] * (len(commands) - len(outcomes))
            break  # else what was decided is written first, and the operator may make room meanwhile
        except ServiceError as error:
            outcomes.append(error)
            continue
        added += _added_bytes(status, decision.after)
        if added > max_added and status is not before:
            break
        status = decision.after
        outcomes.append(decision)
    replayed = all(isinstance(outcome, Decision) and outcome.replayed for outcome in outcomes)
    return BatchDecision(Decision(before, status, replayed), tuple(outcomes))


def _added_bytes(before: RunStatus, after: RunStatus) -> int:
    texts = [entry.encoded or "" for entry in after.outbox[len(before.outbox) :]]
    texts += [each.encoded for step_id, each in after.answers.items() if each is not before.answers.get(step_id)]
    return sum(len(text.encode()) for text in texts)
