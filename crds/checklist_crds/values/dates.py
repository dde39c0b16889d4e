"""Dates and times as text, in the forms of answers and conditions (contract section 4).

Each function returns the normal form, which sorts chronologically, and raises ValueError for other forms and for days
or times that do not exist.
"""

import re
from datetime import date, time
from typing import Final

from ..times import format_timestamp, parse_timestamp

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Hours and minutes are limited here: some versions of Python accept 24:00 as midnight, and +01:60 as +02:00.
_HOUR_MINUTE: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME: Final = re.compile(rf"{_HOUR_MINUTE}(:[0-9]{{2}})?")
# RFC 3339, section 5.6. `fromisoformat` would also accept week dates and other forms of ISO 8601.
_DATETIME: Final = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T{_HOUR_MINUTE}:[0-9]{{2}}(\.[0-9]{{1,9}})?(Z|[+-]{_HOUR_MINUTE})"
)


def normal_date(text: str) -> str:
    """Returns a date such as `2026-11-21`."""
    if not _DATE.fullmatch(text):
        raise ValueError("not a date like 2026-11-21")
    return date.fromisoformat(text).isoformat()


def normal_time(text: str) -> str:
    """Returns a time such as `13:50`, or `13:50:30` with non-zero seconds."""
    if not _TIME.fullmatch(text):
        raise ValueError("not a time like 13:50")
    moment = time.fromisoformat(text)
    return moment.isoformat(timespec="seconds" if moment.second else "minutes")


def normal_datetime(text: str) -> str:
    """Converts a time with its UTC offset to UTC: `2026-11-21T13:50:00.000Z`."""
    text = text.upper()  # RFC 3339 allows a small t and z
    if not _DATETIME.fullmatch(text):
        raise ValueError("not a moment with a zone like 2026-11-21T13:50:00Z")
    try:
        return format_timestamp(parse_timestamp(text))
    except OverflowError as error:  # the offset leads out of the years 1 to 9999
        raise ValueError("outside the calendar") from error
