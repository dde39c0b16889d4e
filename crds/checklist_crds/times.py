"""Timestamps: ISO 8601 in UTC with milliseconds, the only form that the service writes.

Everything that needs the time takes a `Clock`, so that tests (and only they) can stop it.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, PlainSerializer

Clock = Callable[[], datetime]

LAST_MOMENT: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


def utc_now() -> datetime:
    """Now, in UTC, cut to milliseconds: what is stored is what was decided with."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def format_timestamp(moment: datetime) -> str:
    """`2026-11-21T13:50:00.123Z`"""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-6] + "Z"


def format_optional(moment: datetime | None) -> str | None:
    """The timestamp of something that may not have happened."""
    return None if moment is None else format_timestamp(moment)


def format_milliseconds(since_1970: int) -> str:
    """The timestamp of an instant as rows of lists count them."""
    moment = datetime.fromtimestamp(since_1970 // 1000, UTC)
    return format_timestamp(moment.replace(microsecond=since_1970 % 1000 * 1000))


def format_optional_milliseconds(since_1970: int | None) -> str | None:
    return None if since_1970 is None else format_milliseconds(since_1970)


def parse_timestamp(text: str) -> datetime:
    """An aware datetime in UTC. Raises ValueError for anything that is no RFC 3339 timestamp with a zone, and for one
    whose offset leads out of the years 1 to 9999: Python cannot say it in UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"timestamp without a zone: {text!r}")
    return _required_in_utc(moment).astimezone(UTC)


def readable_timestamp(text: str) -> datetime | None:
    """The same; None for what `parse_timestamp` raises over."""
    try:
        return parse_timestamp(text)
    except ValueError:
        return None


def later(moment: datetime, by: timedelta) -> datetime:
    """`moment` and `by` after it; the last moment of the calendar where that is later still."""
    try:
        return moment + by
    except OverflowError:
        return LAST_MOMENT


def _required_in_utc(moment: datetime) -> datetime:
    """`moment` as it is. Raises ValueError when it cannot be said in UTC."""
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
"""A pydantic field that reads any RFC 3339 timestamp with a zone and writes the service's own form."""
