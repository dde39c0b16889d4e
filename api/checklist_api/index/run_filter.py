"""Which runs a list selects."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

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

    def bounds(self) -> Iterator[tuple[str, str, int]]:
        """Yield the limits in time as column, comparison, and milliseconds since 1970."""
        limits = (
            ("created_at", self.created_after, self.created_before),
            ("completed_at", self.completed_after, self.completed_before),
            ("expires_at", self.expires_after, self.expires_before),
        )
        for column, after, before in limits:
            if after is not None:
                yield column, ">", milliseconds(after)
            if before is not None:
                yield column, "<", milliseconds(before)
