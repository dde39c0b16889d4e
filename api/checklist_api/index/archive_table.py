"""SQLite table on disk of what is known of the archive: its parts, the runs in them, and each run's list row.

It is attached to the database of live runs, so that one query reads both and lists each run exactly once while it
moves. The file belongs to one process, is deleted with it, and is only a cache. Memory does not grow with it.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

from checklist_crds.runs.row import RUN_COLUMNS

from .delivery_rows import packed_id
from .interned_names import InternedNames
from .run_filter import RunFilter
from .run_rows import column

_PREPARED: Final = """
PRAGMA archive.journal_mode = MEMORY;
PRAGMA archive.synchronous = OFF;
PRAGMA archive.locking_mode = EXCLUSIVE;
PRAGMA archive.cache_size = -8192;
"""
_SCHEMA: Final = f"""
CREATE TABLE archive.parts (
    part INTEGER PRIMARY KEY, key TEXT UNIQUE, tag TEXT, organization TEXT, month TEXT, state INT
);
CREATE INDEX archive.parts_of_organization ON parts (organization, state);
CREATE INDEX archive.parts_by_month ON parts (state, month);
CREATE TABLE archive.members (run_id TEXT, part INT, version INT, PRIMARY KEY (run_id, part)) WITHOUT ROWID;
CREATE INDEX archive.members_of_part ON members (part);
CREATE TABLE archive.runs (
    {", ".join(RUN_COLUMNS)}, version INT, part INT, PRIMARY KEY (run_id, namespace)
) WITHOUT ROWID;
CREATE INDEX archive.newest ON runs (organization, created_at, run_id, namespace, phase);
CREATE INDEX archive.newest_of_template ON runs (organization, template_id, created_at, run_id, namespace, phase);
CREATE INDEX archive.newest_flagged ON runs (organization, created_at, run_id, namespace, phase) WHERE flagged > 0;
CREATE INDEX archive.newest_of_reference ON runs (organization, executor_ref, created_at, run_id, namespace);
CREATE INDEX archive.runs_of_part ON runs (part);
CREATE INDEX archive.completed ON runs (organization, completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX archive.expired ON runs (organization, expires_at) WHERE phase = 'expired';
CREATE TABLE archive.events (event_id BLOB, run_id TEXT, part INT, PRIMARY KEY (event_id, part)) WITHOUT ROWID;
CREATE INDEX archive.events_of_part ON events (part);
"""
_PUT: Final = f"INSERT OR REPLACE INTO archive.runs VALUES ({', '.join('?' * (len(RUN_COLUMNS) + 2))})"  # noqa: S608 - no input
_NAMES: Final = tuple(column(name) for name in ("namespace", "organization", "template_id"))
"""Columns with few distinct values, interned as numbers because they are in every index."""
_NAMESPACE, _ORGANIZATION, _PHASE = column("namespace"), column("organization"), column("phase")


class PartState(IntEnum):
    WAITING = 0
    """Its runs are known; their rows are not loaded."""
    LOADED = 1
    DAMAGED = 2
    """Its content does not match its manifest."""
    COVERED = 3
    """Like WAITING, but all its runs are live or were a moment ago, so lists are complete without it."""

    @property
    def is_unread(self) -> bool:
        return self in {PartState.WAITING, PartState.COVERED}


@dataclass(frozen=True, slots=True)
class KnownPart:
    """A part, identified by the key of its manifest. `tag` changes when the manifest is rewritten."""

    number: int
    key: str
    tag: str
    organization: str
    state: PartState


@dataclass(frozen=True, slots=True)
class ArchivedRow:
    """A run of a part: list row, version and event ids."""

    row: tuple[Any, ...]
    version: int
    events: tuple[str, ...] = ()


class ArchiveTable:
    """All methods are fast and synchronous; they raise sqlite3.Error when the disk is full."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """`db`: has the table `runs` of live runs."""
        self._db = db
        self._names = InternedNames()
        self._totals: Counter[tuple[int, int, str]] = Counter()
        db.execute("CREATE TABLE duplicates (run_id, namespace, PRIMARY KEY (run_id, namespace)) WITHOUT ROWID")
        self._is_empty = True
        self._attach(":memory:")

    def store_in(self, folder: Path) -> None:
        """Store the table in an unlinked file in `folder`, which the OS removes with the process. Call before use."""
        descriptor, name = tempfile.mkstemp(prefix="archive-", suffix=".sqlite3", dir=folder)
        os.close(descriptor)
        self._db.execute("DETACH archive")
        self._attach(name)
        Path(name).unlink()

    def _attach(self, name: str) -> None:
        self._db.execute("ATTACH ? AS archive", (name,))
        self._db.executescript(_PREPARED + _SCHEMA)

    def parts(self, organization: str | None = None) -> dict[str, KnownPart]:
        """All parts, or those of the organization (public id), by key."""
        where, values = ("", ()) if organization is None else ("WHERE organization = ?", (organization,))
        rows = self._db.execute(f"SELECT part, key, tag, organization, state FROM archive.parts {where}", values)  # noqa: S608
        return {row[1]: _part(row) for row in rows}

    def part(self, key: str) -> KnownPart | None:
        row = self._db.execute(
            "SELECT part, key, tag, organization, state FROM archive.parts WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else _part(row)

    def add_part(self, key: str, tag: str, organization: str, versions: Mapping[str, int]) -> None:
        """Add or replace a part. `versions`: by run id."""
        self.forget(key)
        with self._transaction():
            number = self._db.execute(
                "INSERT INTO archive.parts (key, tag, organization, month, state) VALUES (?, ?, ?, ?, ?)",
                (key, tag, organization, key.split("/")[-2], PartState.WAITING),
            ).lastrowid
            self._db.executemany(
                "INSERT INTO archive.members VALUES (?, ?, ?)",
                ((run_id, number, version) for run_id, version in versions.items()),
            )
            covered = "SELECT count(*) FROM archive.members JOIN main.runs USING (run_id) WHERE part = ?"
            if self._db.execute(covered, (number,)).fetchone()[0] >= len(versions):
                self._db.execute("UPDATE archive.parts SET state = ? WHERE part = ?", (PartState.COVERED, number))

    def mark(self, part: KnownPart, state: PartState) -> None:
        self._db.execute("UPDATE archive.parts SET state = ? WHERE part = ?", (state, part.number))

    def retry_damaged(self) -> None:
        """Queue damaged parts to be read again, in case they were repaired."""
        self._db.execute("UPDATE archive.parts SET state = ? WHERE state = ?", (PartState.WAITING, PartState.DAMAGED))

    def unread(self) -> KnownPart | None:
        """Return a part whose rows are not loaded; newest month first."""
        for state in (PartState.WAITING, PartState.COVERED):
            row = self._db.execute(
                "SELECT part, key, tag, organization, state FROM archive.parts WHERE state = ? "
                "ORDER BY month DESC LIMIT 1",
                (state,),
            ).fetchone()
            if row is not None:
                return _part(row)
        return None

    def states(self, organization: str | None = None) -> dict[PartState, int]:
        """Count parts by state."""
        where, values = ("", ()) if organization is None else ("WHERE organization = ?", (organization,))
        rows = self._db.execute(f"SELECT state, count(*) FROM archive.parts {where} GROUP BY state", values)  # noqa: S608
        return {PartState(state): count for state, count in rows}

    def forget(self, key: str) -> None:
        """Remove a part and its runs, except those that another part has, too.

        A part rewritten by an erasure has the remaining runs in the same versions: their rows are reassigned to it, so
        that lists stay complete.
        """
        part = self.part(key)
        if part is None:
            return
        with self._transaction():
            others = self._db.execute(
                "SELECT DISTINCT other.part FROM archive.members AS own JOIN archive.members AS other "
                "ON other.run_id = own.run_id AND other.part != own.part WHERE own.part = ?",
                (part.number,),
            ).fetchall()
            self._reassign_rows(part.number)
            for values in self._db.execute("SELECT * FROM archive.runs WHERE part = ?", (part.number,)).fetchall():
                self._count(values, -1)
                self._db.execute("DELETE FROM duplicates WHERE run_id = ? AND namespace = ?", self._live_key(values))
            for table in ("runs", "members", "events", "parts"):
                self._db.execute(f"DELETE FROM archive.{table} WHERE part = ?", (part.number,))  # noqa: S608 - ours
            for (number,) in others:
                self._db.execute("UPDATE archive.parts SET state = ? WHERE part = ?", (self._state_of(number), number))

    def _reassign_rows(self, number: int) -> None:
        """Reassign rows to other parts that have the same runs in the same versions."""
        successors = self._db.execute(
            "SELECT max(other.part), runs.run_id, runs.namespace FROM archive.runs JOIN archive.members AS other "
            "ON other.run_id = runs.run_id AND other.version = runs.version AND other.part != runs.part "
            "JOIN archive.parts AS heir ON heir.part = other.part AND heir.state != :damaged "
            "JOIN archive.parts AS gone ON gone.part = runs.part AND gone.organization = heir.organization "
            "WHERE runs.part = :part GROUP BY 2, 3",
            {"part": number, "damaged": PartState.DAMAGED},
        ).fetchall()
        self._db.executemany("UPDATE archive.runs SET part = ? WHERE run_id = ? AND namespace = ?", successors)
        self._db.execute(
            "INSERT OR IGNORE INTO archive.events SELECT events.event_id, events.run_id, runs.part "
            "FROM archive.events JOIN archive.runs USING (run_id) WHERE events.part = :part AND runs.part != :part",
            {"part": number},
        )

    def _state_of(self, number: int) -> PartState:
        """Compute the state of a part whose rows may have changed."""
        rows, runs = self._db.execute(
            "SELECT (SELECT count(*) FROM archive.runs WHERE part = :part), "
            "(SELECT count(*) FROM archive.members WHERE part = :part)",
            {"part": number},
        ).fetchone()
        return PartState.LOADED if rows >= runs > 0 else PartState.WAITING

    def put(self, part: KnownPart, found: Iterable[ArchivedRow]) -> None:
        """Add rows of a part. For a run in several parts, the highest version is kept."""
        self._is_empty = False
        with self._transaction():
            for each in found:
                self._put(part, each)

    def _put(self, part: KnownPart, new: ArchivedRow) -> None:
        values = list(new.row)
        for number in _NAMES:
            values[number] = self._names.intern(values[number])
        key = (new.row[0], values[_NAMESPACE])
        before = self._db.execute("SELECT * FROM archive.runs WHERE run_id = ? AND namespace = ?", key).fetchone()
        if before is not None:
            if tuple(before[-2:]) > (new.version, part.number):
                return
            self._count(before, -1)
        self._db.execute(_PUT, (*values, new.version, part.number))
        self._count(values, +1)
        self._db.executemany(
            "INSERT OR IGNORE INTO archive.events VALUES (?, ?, ?)",
            ((packed_id("evt", event), new.row[0], part.number) for event in new.events),
        )
        self._db.execute(
            "INSERT OR IGNORE INTO duplicates "
            "SELECT run_id, namespace FROM main.runs WHERE run_id = ? AND namespace = ?",
            new.row[:2],
        )

    def note_live(self, run_id: str, namespace: str) -> None:
        """Mark a run as live: if it is archived, too, lists show the live one."""
        if not self._is_empty and self.has(run_id, namespace):
            self._db.execute("INSERT OR IGNORE INTO duplicates VALUES (?, ?)", (run_id, namespace))

    def note_gone(self, run_id: str, namespace: str) -> None:
        """Mark a run as not live."""
        if not self._is_empty:
            self._db.execute("DELETE FROM duplicates WHERE run_id = ? AND namespace = ?", (run_id, namespace))

    def has(self, run_id: str, namespace: str) -> bool:
        """Whether the run's row is loaded."""
        query = "SELECT 1 FROM archive.runs WHERE run_id = ? AND namespace = ?"
        return self._db.execute(query, (run_id, self._names.number(namespace))).fetchone() is not None

    def parts_of(self, run_id: str, organization: str | None = None) -> list[KnownPart]:
        """Return the parts that have the run (of that organization), newest version first."""
        rows = self._db.execute(
            "SELECT parts.part, key, tag, organization, state FROM archive.members JOIN archive.parts USING (part) "
            "WHERE run_id = ? ORDER BY version DESC, part DESC",
            (run_id,),
        )
        return [part for part in map(_part, rows) if organization in (None, part.organization)]

    def run_of_event(self, event_id: str) -> str | None:
        """Return the run of an archived event."""
        row = self._db.execute(
            "SELECT run_id FROM archive.events WHERE event_id = ?", (packed_id("evt", event_id),)
        ).fetchone()
        return row[0] if row else None

    def known_runs(self) -> int:
        """Count loaded rows."""
        return self._totals.total()

    def where(
        self, organization: str, namespaces: Sequence[str], wanted: RunFilter
    ) -> tuple[str, dict[str, Any]] | None:
        """Return a condition on `archive.runs` and its values; None if no row can match.

        A value has the name of one in a query of live runs only if both are equal.
        """
        owner, places = self._names.number(organization), self._names.known(namespaces)
        if self._is_empty or owner is None or not places:
            return None
        conditions, values = wanted.conditions()
        conditions += [f"organization = {owner}", f"namespace IN ({', '.join(map(str, places))})"]
        if wanted.status is not None:
            conditions.append("phase = :a_status")
            values["a_status"] = wanted.status
        if wanted.template_id is not None:
            template = self._names.number(wanted.template_id)
            if template is None:
                return None
            conditions.append(f"template_id = {template}")
        return " AND ".join(conditions), values

    def total(self, organization: str, namespaces: Sequence[str], status: str | None) -> int:
        """Count archived runs, optionally by status. Cached, because most lists need it."""
        owner, places = self._names.number(organization), self._names.known(namespaces)
        return sum(
            count
            for (whose, place, phase), count in self._totals.items()
            if whose == owner and place in places and status in (None, phase)
        )

    def count(self, organization: str, namespaces: Sequence[str], wanted: RunFilter, *, at_most: int) -> int:
        """Count archived runs that are not live; stops at `at_most`."""
        found = self.where(organization, namespaces, wanted)
        if found is None:
            return 0
        where, values = found
        limited = f"SELECT 1 FROM archive.runs AS runs WHERE {where} AND {self.no_duplicates} LIMIT {at_most:d}"  # noqa: S608
        return int(self._db.execute(f"SELECT COUNT(*) FROM ({limited})", values).fetchone()[0])  # noqa: S608

    def newest_completed(
        self, organization: str, namespaces: Sequence[str], limit: int
    ) -> list[tuple[str, str, int, int]]:
        """Return the newest completed runs that are not live: template, its name, milliseconds from dispatch to
        completion, and the time of completion."""
        found = self.where(organization, namespaces, RunFilter())
        if found is None:
            return []
        query = (
            "SELECT template_id, template_name, completed_at - created_at, completed_at FROM archive.runs AS runs "  # noqa: S608 - conditions are ours
            f"WHERE {found[0]} AND completed_at IS NOT NULL AND {self.no_duplicates} "
            "ORDER BY completed_at DESC LIMIT :limit"
        )
        rows = self._db.execute(query, {**found[1], "limit": limit})
        return [(self._names.text(template), name, took, at) for template, name, took, at in rows]

    def rows(self, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[Any, ...]]:
        """Return rows with interned names resolved, by (run id, namespace number)."""
        found = {}
        for key in keys:
            row = self._db.execute("SELECT * FROM archive.runs WHERE run_id = ? AND namespace = ?", key).fetchone()
            if row is not None:
                values = list(row[: len(RUN_COLUMNS)])
                for number in _NAMES:
                    values[number] = self._names.text(values[number])
                found[key] = tuple(values)
        return found

    @property
    def has_duplicates(self) -> bool:
        return self._db.execute("SELECT 1 FROM duplicates LIMIT 1").fetchone() is not None

    @property
    def no_duplicates(self) -> str:
        """Condition that excludes live runs."""
        return "NOT EXISTS (SELECT 1 FROM duplicates WHERE duplicates.run_id = runs.run_id)"

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run a transaction; after a failure (disk full), recount the totals."""
        self._db.execute("BEGIN")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk may already have ended it
                self._db.execute("ROLLBACK")
            counted = self._db.execute(
                "SELECT organization, namespace, phase, count(*) FROM archive.runs GROUP BY 1, 2, 3"
            )
            self._totals = Counter({(row[0], row[1], row[2]): row[3] for row in counted})
            raise

    def _count(self, values: Sequence[Any], sign: int) -> None:
        key = (values[_ORGANIZATION], values[_NAMESPACE], values[_PHASE])
        self._totals[key] += sign
        if not self._totals[key]:
            del self._totals[key]

    def _live_key(self, values: Sequence[Any]) -> tuple[str, str]:
        return values[0], self._names.text(values[_NAMESPACE])


def _part(row: tuple[Any, ...]) -> KnownPart:
    number, key, tag, organization, state = row
    return KnownPart(number, key, tag, organization, PartState(state))
