"""The conditions of a finished run: Completed, True or False, and Ended, always True.

`kubectl wait --for=condition=Completed` never returns for a cancelled or expired run, because the condition stays
False; `--for=condition=Ended` returns for every end. Both are written in the patch that ends the run. Runs that ended
under a release without Ended lack it until the operator adds it.
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
    """Returns the conditions of a run that ends at `now` in the final `phase`."""
    completed = phase is RunPhase.COMPLETED
    conditions = with_condition(
        conditions, COMPLETED, completed, f"Run{phase.value}", _TEXTS[phase], now=now, generation=generation
    )
    return with_condition(conditions, ENDED, True, phase.value, _TEXTS[phase], now=now, generation=generation)


def lacks_ended(body: Mapping[str, Any]) -> bool:
    """Whether the run object is in a final phase without the condition Ended."""
    status = body.get("status") or {}
    if status.get("phase") not in _FINAL:
        return False
    return all(condition["type"] != ENDED for condition in status.get("conditions") or ())


def with_missing_ended(run: Run) -> RunStatus:
    """Returns the status with Ended, dated at the end of the run; unchanged if it is open or has the condition."""
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
