"""Timestamps: ISO 8601 in UTC with milliseconds, the only form that the service writes.

Everything that needs the time takes a `Clock`, so that tests (and only they) can stop it.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, PlainSerializer

Clock = Callable[[], datetime]


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


def parse_timestamp(text: str) -> datetime:
    """An aware datetime in UTC. Raises ValueError for anything that is no RFC 3339 timestamp with a zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"timestamp without a zone: {text!r}")
    return moment.astimezone(UTC)


Timestamp = Annotated[AwareDatetime, PlainSerializer(format_timestamp, return_type=str, when_used="json")]
"""A pydantic field that reads any RFC 3339 timestamp with a zone and writes the service's own form."""
