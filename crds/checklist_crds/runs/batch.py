"""Applies several commands to one run in order, written together: an offline queue in one request.

Each command is decided on the result of the one before, by the same `decide` as if it had come alone, so status, events
and refusals are the same. The size of a patch is limited, so a batch may take several; none contains half a command.
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
"""Limit of answers and events added by one patch; a single command may add more."""

Outcome = Decision | ServiceError


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """Result of the first `len(outcomes)` commands; decide the others after it is written."""

    decision: Decision
    """Of all of them together; `repeated` if each was applied before."""
    outcomes: tuple[Outcome, ...]
    """For each command its decision, or why it was refused. Never empty."""


def decide_in_turn(
    run: Run, definition: Definition, commands: Sequence[Command], now: datetime, *, max_added: int = MAX_ADDED_BYTES
) -> BatchDecision:
    """Decides on `commands` (at least one) in order, as many as fit into one patch.

    A refused command changes nothing and does not stop the next ones. One that cannot be decided now
    (ServiceUnavailable, when too many events wait) stops the rest, which get the same outcome to keep the order.
    """
    before, status, added = run.status, run.status, 0
    outcomes: list[Outcome] = []
    for command in commands:
        try:
            decision = decide(replace(run, status=status), definition, command, now)
        except ServiceUnavailable as error:
            if status is before:
                outcomes += [error] * (len(commands) - len(outcomes))
            break  # write what was decided first; the operator may make room meanwhile
        except ServiceError as error:
            outcomes.append(error)
            continue
        added += _added_bytes(status, decision.after)
        if added > max_added and status is not before:
            break
        status = decision.after
        outcomes.append(decision)
    repeated = all(isinstance(outcome, Decision) and outcome.repeated for outcome in outcomes)
    return BatchDecision(Decision(before, status, repeated), tuple(outcomes))


def _added_bytes(before: RunStatus, after: RunStatus) -> int:
    texts = [entry.encoded or "" for entry in after.outbox[len(before.outbox) :]]
    changed = [each for step_id, each in after.answers.items() if each is not before.answers.get(step_id)]
    texts += [text for each in changed for text in (each.encoded, each.note or "")]
    return sum(len(text.encode()) for text in texts)
