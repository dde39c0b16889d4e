"""Which snapshots stay. Pure: no store, no clock."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from . import layout
from .format import BackupManifest


@dataclass(frozen=True, slots=True)
class Rule:
    """A snapshot stays when either part says so; a part that is None says nothing."""

    newest: int | None = None
    """So many of each sort."""
    days: float | None = None
    """Those that were begun within so many days."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a URL; names of snapshots, the oldest first."""

    whole: Sequence[BackupManifest]
    damaged: Sequence[str] = ()
    """They have a manifest, and one that cannot be read."""
    half_removed: Sequence[str] = ()
    """Another prune was stopped in the middle of them."""
    given_up: Sequence[str] = ()
    """Never finished, and nobody works on them any more."""
    under_way: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Names, the oldest first."""

    stay: tuple[str, ...]
    go: tuple[str, ...]


def plan(found: Found, rule: Rule, now: datetime) -> Plan:
    """Snapshots of everything with photos, those without photos, and those of the same organizations are each a sort of
    their own: none of them takes the place of another. The newest of everything always stays, where there is none the
    newest of all.

    A damaged one goes when it is older than all that stay.
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
    go |= {*found.half_removed, *found.given_up}
    return Plan(tuple(sorted(stay | kept_damaged)), tuple(sorted(go)))


def _sort_of(manifest: BackupManifest) -> object:
    organizations = frozenset(one.id for one in manifest.organizations) if manifest.is_partial else None
    return organizations, manifest.copies is not None


def _always(manifests: Sequence[BackupManifest]) -> list[str]:
    """At most one of each sort that a lost cluster is brought back from."""
    everything = [one for one in manifests if not one.is_partial]
    with_photos = [one for one in everything if one.copies is not None]
    return [one.name for one in (with_photos or everything or manifests)[-1:]]
