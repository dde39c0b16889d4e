"""Storage limits of an organization, and the arithmetic of reservations (contract section 11).

A limit is checked against existing objects **and** reservations for objects that are being created, which are in the
organization's status (`kube/limit_ledger.py`). Pure functions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ..errors import LimitReached
from ..resources.organization import KeysOfHour, OrganizationLimits
from ..times import format_timestamp, parse_timestamp


class LimitName(StrEnum):
    """Name of a limit, as in `details.what` of the error."""

    TEMPLATES = "templates"
    TEMPLATE_BYTES = "template_bytes"
    VERSIONS = "versions"
    API_KEYS = "api_keys"
    API_KEY_RECORDS = "api_key_records"
    MEMBERS = "members"
    ACCOUNTS = "accounts"
    IDEMPOTENCY_KEYS = "idempotency_keys"
    RUN_BYTES = "run_bytes"


_EXPLAINED = {
    LimitName.TEMPLATES: "The organization may have {limit:,} templates. Delete some that are no longer needed.",
    LimitName.TEMPLATE_BYTES: "The templates of the organization may have {limit:,} bytes of JSON together. Delete "
    "some that are no longer needed.",
    LimitName.VERSIONS: "{limit:,} versions of this template are kept. Earlier ones go when no run refers to them.",
    LimitName.API_KEYS: "The organization may have {limit:,} API keys. Revoke some that are no longer used.",
    LimitName.API_KEY_RECORDS: "The organization may have {limit:,} API keys with those that are revoked, which stay "
    "as a record. Ask your administrator to remove some.",
    LimitName.MEMBERS: "The organization may have {limit:,} members. Remove some first.",
    LimitName.ACCOUNTS: "The organization may have {limit:,} accounts that its admins made. Ask your "
    "administrator to remove some.",
    LimitName.IDEMPOTENCY_KEYS: "The organization may make {limit:,} templates and replays with an Idempotency-Key in "
    "24 hours. Without the header, nothing is remembered of a request and it is not counted.",
    LimitName.RUN_BYTES: "All photos and drawings that were ever stored for this run may have {limit:,} bytes.",
}


def limit_reached(what: LimitName, *, limit: int, used: int) -> LimitReached:
    """Returns the error with `details: {limit, used, what}`. `used` excludes the refused addition."""
    details = {"limit": limit, "used": used, "what": what.value}
    return LimitReached(_EXPLAINED[what].format(limit=limit), details=details)


REVOKED = 1
"""Stands for the size of a revoked API key, which stays as a record and does not count as a key."""
_RECORDS_OF_A_KEY = 10
"""Factor of the limit on keys for the number of keys including revoked ones."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an organization, unless its own spec overrides them. Sizes are in bytes."""

    templates: int = 1_000
    template_bytes: int = 64 * 1024**2
    versions: int = 500
    api_keys: int = 100
    members: int = 500
    accounts: int = 1_000
    idempotency_keys: int = 10_000
    run_bytes: int = 4 * 1024**3
    audit_entries: int = 100_000

    def of(self, own: OrganizationLimits | None) -> "Limits":
        """Returns the limits with an organization's overrides."""
        if own is None:
            return self
        given = {name: value for name in self.__slots__ if (value := getattr(own, name)) is not None}
        return Limits(**{name: given.get(name, getattr(self, name)) for name in self.__slots__})


class Counted(StrEnum):
    """Kinds that are counted by object; Idempotency-Keys are counted by the hour (`with_one_key`)."""

    TEMPLATE = "template"
    API_KEY = "api_key"
    MEMBER = "member"
    ACCOUNT = "account"
    IDEMPOTENCY_KEY = "idempotency_key"

    @property
    def limit_name(self) -> LimitName:
        return LimitName(f"{self.value}s")


@dataclass(frozen=True, slots=True)
class Reserved:
    """Room for one object that is about to be created or enlarged. `name` is unique within its kind."""

    id: str
    counted: Counted
    name: str
    size: int
    since: datetime

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> "Reserved":
        return cls(
            str(entry["id"]),
            Counted(entry["counted"]),
            str(entry["name"]),
            int(entry.get("size", 0)),
            parse_timestamp(entry["since"]),
        )

    def as_status(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "counted": self.counted.value,
            "name": self.name,
            "size": self.size,
            "since": format_timestamp(self.since),
        }


def _live(counted: Counted, sizes: Mapping[str, int]) -> int:
    """Returns the number of objects without revoked keys."""
    return len(sizes) if counted is not Counted.API_KEY else sum(size != REVOKED for size in sizes.values())


@dataclass(frozen=True, slots=True)
class Full:
    """No room. `may_change`: only because of reservations, whose objects may not be created."""

    error: LimitReached
    may_change: bool


def room_for(wanted: Reserved, existing: Mapping[str, int], others: Iterable[Reserved], limits: Limits) -> Full | None:
    """Returns None if the limits leave room.

    `existing`: sizes of existing objects of the kind, by name. `others`: reservations of any kind. An existing object
    with reservations counts once, with its largest size.
    """
    expected = dict(existing)
    for other in others:
        if other.counted is wanted.counted:
            expected[other.name] = max(expected.get(other.name, 0), other.size)
    what = wanted.counted.limit_name
    limit = getattr(limits, what)
    checked = [(what, limit, _live(wanted.counted, existing), _live(wanted.counted, expected))]
    if wanted.counted is Counted.API_KEY:
        checked.append((LimitName.API_KEY_RECORDS, limit * _RECORDS_OF_A_KEY, len(existing), len(expected)))
    for name, most, there, used in checked:
        if wanted.name not in expected and used >= most:
            return Full(limit_reached(name, limit=most, used=used), may_change=there < most)
    if wanted.counted is not Counted.TEMPLATE:
        return None
    used, stored = sum(expected.values()), sum(existing.values())
    more = max(0, wanted.size - expected.get(wanted.name, 0))
    if more and used + more > limits.template_bytes:
        error = limit_reached(LimitName.TEMPLATE_BYTES, limit=limits.template_bytes, used=used)
        at_best = stored + wanted.size - existing.get(wanted.name, 0)
        return Full(error, may_change=at_best <= limits.template_bytes)
    return None


def require_within(counted: Counted, existing: Mapping[str, int], limits: Limits) -> None:
    """Raises LimitReached when existing objects, by name with their sizes, exceed the limits."""
    used, limit = _live(counted, existing), getattr(limits, counted.limit_name)
    if used > limit:
        raise limit_reached(counted.limit_name, limit=limit, used=used)
    stored = sum(existing.values())
    if counted is Counted.TEMPLATE and stored > limits.template_bytes:
        raise limit_reached(LimitName.TEMPLATE_BYTES, limit=limits.template_bytes, used=stored)


_KEY_COUNTS_FOR = timedelta(hours=25)
"""From the start of the hour in which a key was used; keys are remembered for 24 hours."""


def with_one_key(hours: Iterable[KeysOfHour], limits: Limits, now: datetime) -> list[KeysOfHour]:
    """Adds one to the hourly counts of Idempotency-Keys, and drops expired ones.

    Raises LimitReached.
    """
    counts = {one.hour: one.used for one in hours if now < one.hour + _KEY_COUNTS_FOR}
    used = sum(counts.values())
    if used >= limits.idempotency_keys:
        raise limit_reached(LimitName.IDEMPOTENCY_KEYS, limit=limits.idempotency_keys, used=used)
    hour = now.replace(minute=0, second=0, microsecond=0)
    counts[hour] = counts.get(hour, 0) + 1
    return [KeysOfHour(hour=hour, used=used) for hour, used in sorted(counts.items())]
