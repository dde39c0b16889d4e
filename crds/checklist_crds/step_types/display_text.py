"""Words and formats of answers for people, in one language. The API, events and exports use English."""

from collections.abc import Sequence
from datetime import datetime


class DisplayText:
    """English. A subclass has another language."""

    yes = "Yes"
    no = "No"
    none = "None"

    def number(self, plain: str) -> str:
        """`plain`: digits with a decimal point, such as `-18.50`."""
        return plain

    def items(self, items: Sequence[str]) -> str:
        """Joins the labels of options."""
        return ", ".join(items)

    def rating(self, value: int, highest: int, label: str | None) -> str:
        return f"{value} of {highest} ({label})" if label else f"{value} of {highest}"

    def date(self, text: str) -> str:
        """`text`: 2026-11-21."""
        return text

    def time(self, text: str) -> str:
        """`text`: 13:50 or 13:50:30."""
        return text

    def moment(self, moment: datetime) -> str:
        # Not strftime, which omits leading zeros of years before 1000 on some systems.
        return moment.replace(tzinfo=None).isoformat(" ", "seconds" if moment.second else "minutes") + " UTC"

    def signed_by(self, name: str) -> str:
        return f"Signed by {name}"

    def between(self, low: str, high: str) -> str:
        return f"{low} to {high}"

    def at_least(self, low: str) -> str:
        return f"at least {low}"

    def at_most(self, high: str) -> str:
        return f"at most {high}"

    def not_before(self, days: int) -> str:
        """`days`: from the day of the answer."""
        return f"not before {_days_text(days)}"

    def not_after(self, days: int) -> str:
        return f"not after {_days_text(days)}"


ENGLISH = DisplayText()


def _days_text(days: int) -> str:
    """`the day of the answer`, `1 day before the answer`, `30 days after the answer`."""
    if days == 0:
        return "the day of the answer"
    return f"{abs(days)} day{'' if abs(days) == 1 else 's'} {'after' if days > 0 else 'before'} the answer"
