"""Which runs a list selects."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checklist_crds.resources.run import REST_STATUSES
from checklist_crds.runs.row import milliseconds

OPEN: Final = "open"
"""As a status to filter by: pending or in progress."""
OPEN_STATUSES: Final = ("pending", "in_progress")
FILTER_STATUSES: Final = (*REST_STATUSES, OPEN)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs of an organization; all set fields must match. Times are exclusive."""

    status: str | None = None
    template_id: str | None = None
    executor_ref: str | None = None
    flagged: bool | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    completed_after: datetime | None = None
    completed_before: datetime | None = None
    expires_after: datetime | None = None
    expires_before: datetime | None = None

    def matches_status(self, status: str) -> bool:
        if self.status == OPEN:
            return status in OPEN_STATUSES
        return self.status in (None, status)

    def conditions(self) -> tuple[list[str], dict[str, Any]]:
        """Return the SQL conditions that are the same for live and archived runs, and their values.

        Those on status and names differ: live runs can be past their expiry, archived ones have numbers for names.
        """
        conditions, values = [], dict[str, Any]()
        if self.executor_ref is not None:
            conditions.append("executor_ref = :executor_ref")
            values["executor_ref"] = self.executor_ref
        if self.flagged is not None:
            conditions.append("flagged > 0" if self.flagged else "flagged = 0")
        limits = (
            ("created_at", self.created_after, self.created_before),
            ("completed_at", self.completed_after, self.completed_before),
            ("expires_at", self.expires_after, self.expires_before),
        )
        for column, *bounds in limits:
            for comparison, name, bound in zip("><", (f"{column}_after", f"{column}_before"), bounds, strict=True):
                if bound is not None:
                    conditions.append(f"{column} {comparison} :{name}")
                    values[name] = milliseconds(bound)
        return conditions, values
