"""Timestamps: ISO 8601 in UTC with milliseconds, the only form that the service writes.

Code that needs the time takes a `Clock`, which tests replace.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, PlainSerializer

Clock = Callable[[], datetime]

LAST_MOMENT: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


def utc_now() -> datetime:
    """Returns the time in UTC, truncated to milliseconds, as it is stored."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def format_timestamp(moment: datetime) -> str:
    """`2026-11-21T13:50:00.123Z`"""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def format_optional(moment: datetime | None) -> str | None:
    return None if moment is None else format_timestamp(moment)


def format_milliseconds(since_1970: int) -> str:
    """Formats milliseconds since 1970, as in rows of lists."""
    moment = datetime.fromtimestamp(since_1970 // 1000, UTC)
    return format_timestamp(moment.replace(microsecond=since_1970 % 1000 * 1000))


def format_optional_milliseconds(since_1970: int | None) -> str | None:
    return None if since_1970 is None else format_milliseconds(since_1970)


def parse_timestamp(text: str) -> datetime:
    """Returns an aware datetime in UTC. Raises ValueError unless it is an RFC 3339 timestamp with a zone, within the
    years 1 to 9999 in UTC."""
    return parse_local_timestamp(text).astimezone(UTC)


def parse_local_timestamp(text: str) -> datetime:
    """Like `parse_timestamp`, with the offset of the text."""
    moment = datetime.fromisoformat(text.upper())  # `t` and `z` are valid, too
    if moment.tzinfo is None:
        raise ValueError(f"timestamp without a zone: {text!r}")
    return _required_in_utc(moment)


def readable_timestamp(text: str) -> datetime | None:
    """Like `parse_timestamp`, but returns None instead of raising."""
    try:
        return parse_timestamp(text)
    except ValueError:
        return None


def later(moment: datetime, by: timedelta) -> datetime:
    """Returns `moment` plus `by`, at most the last representable moment."""
    try:
        return moment + by
    except OverflowError:
        return LAST_MOMENT


def _required_in_utc(moment: datetime) -> datetime:
    """Returns `moment` unchanged. Raises ValueError if it cannot be converted to UTC."""
    if moment.year in (1, 9999):
        try:
            moment.astimezone(UTC)
        except OverflowError:
            raise ValueError("in UTC it is in none of the years 1 to 9999") from None
    return moment


Timestamp = Annotated[
    AwareDatetime,
    AfterValidator(_required_in_utc),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
]
"""A pydantic field that parses any RFC 3339 timestamp with a zone and writes the service's format."""
