"""The conditions that show how a run ended: Completed, true or false, and Ended, which is true for every end.

`kubectl wait --for=condition=Completed` never returns for a run that was cancelled or has expired, because the
condition stays False; `--for=condition=Ended` returns for all three. Both are written in the patch that ends the run.
A run that a release without Ended has ended lacks the condition until the operator adds it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..resources.base import StatusCondition, with_condition
from ..resources.run import Run, RunPhase, RunStatus

COMPLETED: Final = "Completed"
ENDED: Final = "Ended"
_TEXTS: Final = {
    RunPhase.COMPLETED: "All required steps are answered and the run was submitted.",
    RunPhase.CANCELLED: "The run was cancelled before completion.",
    RunPhase.EXPIRED: "The link expired before completion.",
}
_FINAL: Final = frozenset(phase.value for phase in _TEXTS)


def with_end(
    conditions: Sequence[StatusCondition], phase: RunPhase, *, now: datetime, generation: int
) -> list[StatusCondition]:
    """The conditions of a run that ends in `phase`, which is final, at `now`."""
    completed = phase is RunPhase.COMPLETED
    conditions = with_condition(
        conditions, COMPLETED, completed, f"Run{phase.value}", _TEXTS[phase], now=now, generation=generation
    )
    return with_condition(conditions, ENDED, True, phase.value, _TEXTS[phase], now=now, generation=generation)


def lacks_ended(body: Mapping[str, Any]) -> bool:
    """Whether the run of this object has ended and has no condition Ended."""
    status = body.get("status") or {}
    if status.get("phase") not in _FINAL:
        return False
    return all(condition["type"] != ENDED for condition in status.get("conditions") or ())


def with_missing_ended(run: Run) -> RunStatus:
    """The status with Ended as of the moment when the run ended; unchanged if it is open or has the condition."""
    status = run.status
    if not status.phase.is_final or any(condition.type == ENDED for condition in status.conditions):
        return status
    ends = (condition.last_transition_time for condition in status.conditions if condition.type == COMPLETED)
    conditions = with_condition(
        status.conditions,
        ENDED,
        True,
        status.phase.value,
        _TEXTS[status.phase],
        now=next(ends, run.created_at),
        generation=run.generation,
    )
    return status.model_copy(update={"conditions": conditions})
