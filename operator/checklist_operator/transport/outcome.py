"""Result of one transmission (specification, "Delivery rules"; delivery profile, "Outcome")."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from checklist_crds.resources.delivery import OutcomeClass

__all__ = ["Outcome", "OutcomeClass", "class_of_status"]


def class_of_status(status: int) -> OutcomeClass:
    """Returns the class of a final HTTP status. 1xx and anything outside 200..599 is not final (RFC 9110)."""
    match status // 100:
        case 2:
            return OutcomeClass.SUCCESS
        case 3:
            return OutcomeClass.HTTP_3XX
        case 4:
            return OutcomeClass.HTTP_4XX
        case 5:
            return OutcomeClass.HTTP_5XX
        case _:
            return OutcomeClass.PROTOCOL


@dataclass(frozen=True, slots=True)
class Outcome:
    """One transmission, as shown in the history.

    `http_status` is None unless a head arrived; `detail` is a short sentence without secrets, resolved addresses or
    text from the receiver.
    """

    outcome_class: OutcomeClass
    http_status: int | None
    started_at: datetime
    duration_ms: int
    detail: str
    traceparent: str | None = None
    """Of the attempt's span, if tracing is on."""

    @property
    def ok(self) -> bool:
        return self.outcome_class is OutcomeClass.SUCCESS

    @property
    def finished_at(self) -> datetime:
        """The end of the attempt, from which the next retry delay counts."""
        return self.started_at + timedelta(milliseconds=self.duration_ms)
