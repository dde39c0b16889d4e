"""Decides which snapshots to keep. Pure: no store, no clock."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from . import layout
from .format import BackupManifest


@dataclass(frozen=True, slots=True)
class Rule:
    """A snapshot is kept if either part says so; None says nothing."""

    newest: int | None = None
    """How many of each sort."""
    days: float | None = None
    """How many days to keep."""


@dataclass(frozen=True, slots=True)
class Found:
    """Snapshots at a URL; names are sorted, the oldest first."""

    whole: Sequence[BackupManifest]
    damaged: Sequence[str] = ()
    """Their manifest cannot be read."""
    half_removed: Sequence[str] = ()
    """An interrupted prune."""
    abandoned: Sequence[str] = ()
    """Unfinished, and too old to be running."""
    under_way: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Names, the oldest first."""

    stay: tuple[str, ...]
    go: tuple[str, ...]


def plan(found: Found, rule: Rule, now: datetime) -> Plan:
    """Complete snapshots, those without photos and those of the same organizations are separate sorts, which do not
    replace each other. The newest complete one is always kept; if there is none, the newest of all.

    A damaged one is removed if it is older than all that are kept.
    """
    by_name = sorted(found.whole, key=lambda manifest: manifest.name)
    sorts: defaultdict[object, list[str]] = defaultdict(list)
    for manifest in by_name:
        sorts[_sort_of(manifest)].append(manifest.name)
    stay: set[str] = set()
    for names in sorts.values():
        if rule.newest is not None:
            stay.update(names[max(0, len(names) - rule.newest) :])
    if rule.days is not None:
        oldest = layout.new_name(now - timedelta(days=rule.days), "00000000")
        stay.update(manifest.name for manifest in by_name if manifest.name >= oldest)
    stay.update(_always(by_name))
    first = min(stay, default=None)
    kept_damaged = {name for name in found.damaged if first is None or name > first}
    go = {manifest.name for manifest in by_name} - stay
    go |= set(found.damaged) - kept_damaged
    go |= {*found.half_removed, *found.abandoned}
    return Plan(tuple(sorted(stay | kept_damaged)), tuple(sorted(go)))


def _sort_of(manifest: BackupManifest) -> object:
    organizations = frozenset(one.id for one in manifest.organizations) if manifest.is_partial else None
    return organizations, manifest.copies is not None


def _always(manifests: Sequence[BackupManifest]) -> list[str]:
    """At most one: the snapshot for disaster recovery."""
    everything = [one for one in manifests if not one.is_partial]
    with_photos = [one for one in everything if one.copies is not None]
    return [one.name for one in (with_photos or everything or manifests)[-1:]]
