"""In-memory SQLite index of runs, fed by a watch (architecture section 3), joined with the archive.

It stores what lists show and filter by, without answers, so that 100,000 runs need tens of megabytes. Own writes are
applied at once; single runs are never read from it. Queries evaluate expiry, so that it takes effect on time.

A finished run whose object is gone stays until the archive is refreshed (`drop_leaving`), and is then listed from the
archive or not at all: each run is listed exactly once at any time.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.informer import Handler, Informer
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.runs.row import RUN_COLUMNS, milliseconds, row_of_run
from checklist_crds.values.json_text import JsonObject

from .archive_table import ArchiveTable
from .run_figures import RUN_FIGURE_INDEXES, RunFigures
from .run_filter import OPEN, RunFilter
from .run_names import RunNames
from .run_rows import FINAL, UNREADABLE, column, summary_of
from .run_search import RunSearch

logger = logging.getLogger(__name__)

_SCHEMA: Final = f"""
CREATE TABLE runs ({", ".join(RUN_COLUMNS)}, PRIMARY KEY (run_id, namespace)) WITHOUT ROWID;
CREATE INDEX newest ON runs (organization, created_at, run_id, namespace, phase, expires_at);
CREATE INDEX newest_of_template ON runs (organization, template_id, created_at, run_id, namespace, phase, expires_at);
CREATE INDEX newest_flagged ON runs (organization, created_at, run_id, namespace, phase, expires_at) WHERE flagged > 0;
CREATE INDEX newest_of_reference ON runs (organization, executor_ref, created_at, run_id);
{RUN_FIGURE_INDEXES}
"""
_ORGANIZATION, _PHASE, _EXPIRES_AT = (column(name) for name in ("organization", "phase", "expires_at"))
_PUT: Final = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(RUN_COLUMNS))})"  # noqa: S608 - no input in it
_STATUS: Final = "CASE WHEN expires_at <= :now AND phase IN ('pending', 'in_progress') THEN 'expired' ELSE phase END"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A changed or deleted run, with its list row."""

    organization: str
    namespace: str
    run_id: str
    row: tuple[Any, ...] | None = None

    def status_at(self, now: datetime) -> str | None:
        """Evaluate `_STATUS`; None if the run is deleted."""
        if self.row is None:
            return None
        phase, expires_at = str(self.row[_PHASE]), self.row[_EXPIRES_AT]
        is_over = expires_at is not None and expires_at <= milliseconds(now) and phase in ("pending", "in_progress")
        return "expired" if is_over else phase

    def progress(self) -> dict[str, int]:
        if self.row is None:
            return {}
        return {name: self.row[column(name)] for name in ("total", "answered", "skipped")}

    @property
    def flagged(self) -> int:
        return int(self.row[column("flagged")]) if self.row is not None else 0


class RunIndex:
    """Lists all admitted runs of the cluster and of `archive`."""

    def __init__(self, watcher: KubeClient) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)
        self.names = RunNames(self._db)
        self.archive = ArchiveTable(self._db)
        self.figures = RunFigures(self._db, self.archive)
        self.search = RunSearch(self._db, _STATUS)
        self._leaving: set[Key] = set()
        self._on_leaving: Callable[[str, Key], None] | None = None
        self._also: list[Handler] = []
        self._listeners: list[Callable[[RowChange], None]] = []
        self.informer = Informer(watcher, RUN, self._apply)

    def add_handler(self, handler: Handler) -> None:
        """Call `handler` with each watch event, after the index is updated."""
        self._also.append(handler)

    def add_listener(self, listener: Callable[[RowChange], None]) -> None:
        """Call `listener` with each run whose list row has changed."""
        self._listeners.append(listener)

    def observe(self, body: JsonObject) -> None:
        """Apply an own write."""
        self.informer.observe(body)

    async def wait_for_first_list(self) -> None:
        """Wait for the first list of runs. Raises KubeUnavailable after a timeout."""
        await self.informer.wait_for_first_list()

    def owners_of(self, run_id: str) -> dict[str, str]:
        """Return the organizations of live runs with this id by namespace, oldest first. There is more than one only
        for runs from before ids were unique."""
        query = "SELECT namespace, organization FROM runs WHERE run_id = ? ORDER BY created_at, namespace"
        return dict(self._db.execute(query, (run_id,)).fetchall())

    def places_of(self, run_id: str) -> list[Key]:
        """Return namespaces and names of live runs with this id, oldest first."""
        return [(namespace, self.names.name_of(run_id, namespace)) for namespace in self.owners_of(run_id)]

    def open_until(self, run_id: str, organization: str, namespaces: Sequence[str], *, now: datetime) -> float | None:
        """Return the expiry of an open run of the organization in milliseconds since 1970 (inf: never); None if the
        index has no such run, or a finished one."""
        query = "SELECT namespace, phase, expires_at FROM runs WHERE run_id = ? AND organization = ?"
        for namespace, phase, expires_at in self._db.execute(query, (run_id, organization)):
            until = float("inf") if expires_at is None else float(expires_at)
            if namespace in namespaces and phase not in FINAL and until > milliseconds(now):
                return until
        return None

    def has(self, run_id: str, namespace: str) -> bool:
        """Whether the run is indexed as live."""
        if (namespace, run_id) in self._leaving:
            return False
        query = "SELECT 1 FROM runs WHERE run_id = ? AND namespace = ?"
        return self._db.execute(query, (run_id, namespace)).fetchone() is not None

    def has_in(self, run_id: str, namespaces: Sequence[str]) -> bool:
        """Whether the run is live in one of these namespaces."""
        return any(self.has(run_id, namespace) for namespace in namespaces)

    def of_template(
        self, organization: str, namespaces: Sequence[str], template_id: str, *, now: datetime
    ) -> tuple[int, int, int]:
        """Count the runs of a template: all, open ones, and distinct versions of live runs."""
        query = f"""SELECT count(*), count(*) FILTER (WHERE {_STATUS} IN ('pending', 'in_progress')),
            count(DISTINCT template_v) FROM runs WHERE organization = :organization AND template_id = :template_id
            AND namespace IN ({_names("n", namespaces)})"""  # noqa: S608 - no input in it
        values = {"organization": organization, "template_id": template_id, "now": milliseconds(now)}
        values |= {f"n{number}": namespace for number, namespace in enumerate(namespaces)}
        total, still_open, versions = self._db.execute(query, values).fetchone()
        total, _ = self.page(
            organization, namespaces, RunFilter(template_id=template_id), now=now, offset=total, limit=0
        )
        return total, still_open, versions

    def page(
        self,
        organization: str,
        namespaces: Sequence[str],
        wanted: RunFilter,
        *,
        now: datetime,
        offset: int,
        limit: int,
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return the total and one page; newest first, ties by id."""
        conditions, values = wanted.conditions()
        conditions += ["organization = :organization", f"namespace IN ({_names('n', namespaces)})"]
        values |= {"organization": organization, "now": milliseconds(now)}
        values |= {f"n{number}": namespace for number, namespace in enumerate(namespaces)}
        if wanted.status == OPEN:
            conditions.append(f"{_STATUS} IN ('pending', 'in_progress')")
        elif wanted.status is not None:
            conditions.append(f"{_STATUS} = :status")
            values["status"] = wanted.status
        if wanted.template_id is not None:
            conditions.append("template_id = :template_id")
            values["template_id"] = wanted.template_id
        live = " AND ".join(conditions)
        total = int(self._db.execute(f"SELECT COUNT(*) FROM runs WHERE {live}", values).fetchone()[0])  # noqa: S608
        archived = self.archive.where(organization, namespaces, wanted)
        if archived is None:
            return total, self._page(live, values, offset, limit) if offset < total else []
        where, more = archived
        if wanted == RunFilter(status=wanted.status):
            total += self.archive.total(organization, namespaces, wanted.status)
        else:
            query = f"SELECT COUNT(*) FROM archive.runs WHERE {where}"  # noqa: S608 - conditions are ours
            total += int(self._db.execute(query, more).fetchone()[0])
        if self.archive.has_duplicates:
            query = f"SELECT COUNT(*) FROM archive.runs AS runs WHERE {where} AND NOT ({self.archive.no_duplicates})"  # noqa: S608
            total -= int(self._db.execute(query, more).fetchone()[0])
            where = f"{where} AND {self.archive.no_duplicates}"
        if offset >= total:
            return total, []
        return total, self._page_through(live, where, values | more, offset, limit)

    def _page(self, where: str, values: dict[str, Any], offset: int, limit: int) -> list[dict[str, Any]]:
        """Read a page of live runs."""
        # The inner query reads an index only, which makes far pages fast.
        names = (
            f"SELECT run_id, namespace FROM runs WHERE {where} "  # noqa: S608 - conditions are ours, values are bound
            "ORDER BY created_at DESC, run_id DESC LIMIT :limit OFFSET :offset"
        )
        rows = self._db.execute(
            f"SELECT *, {_STATUS} FROM runs WHERE (run_id, namespace) IN ({names}) "  # noqa: S608 - as above
            "ORDER BY created_at DESC, run_id DESC",
            values | {"limit": limit, "offset": offset},
        )
        return [summary_of(row[:-1], row[-1]) for row in rows]

    def _page_through(
        self, live: str, archived: str, values: dict[str, Any], offset: int, limit: int
    ) -> list[dict[str, Any]]:
        """Read a page of live and archived runs, merged from the indexes of both."""
        names = self._db.execute(
            f"SELECT created_at, run_id, namespace, 0 FROM main.runs WHERE {live} UNION ALL "  # noqa: S608 - as above
            f"SELECT created_at, run_id, namespace, 1 FROM archive.runs AS runs WHERE {archived} "
            "ORDER BY 1 DESC, 2 DESC LIMIT :limit OFFSET :offset",
            values | {"limit": limit, "offset": offset},
        ).fetchall()
        known = self.archive.rows((name[1], name[2]) for name in names if name[3])
        one = f"SELECT *, {_STATUS} FROM main.runs WHERE run_id = :run_id AND namespace = :namespace"  # noqa: S608
        found = []
        for _, run_id, place, is_archived in names:
            if is_archived:
                row = known[run_id, place]
                found.append(summary_of(row, row[_PHASE]))
            else:
                key = {"run_id": run_id, "namespace": place, "now": values["now"]}
                *live_row, status = self._db.execute(one, key).fetchone()
                found.append(summary_of(tuple(live_row), status))
        return found

    def on_leaving(self, handler: Callable[[str, Key], None]) -> None:
        """Keep finished runs whose object is gone until `drop_leaving`. `handler` gets organization and key of each."""
        self._on_leaving = handler

    def is_leaving(self, key: Key) -> bool:
        """Whether the run's object is gone and it is not yet known whether it was archived."""
        return key in self._leaving

    def drop_leaving(self, key: Key) -> None:
        """Drop a leaving run after the archive was refreshed; no effect if its object came back."""
        if key in self._leaving:
            self._leaving.discard(key)
            # No change for viewers if it is archived.
            self._remove(key, quietly=self.archive.has(key[1], key[0]))

    def close(self) -> None:
        self._db.close()

    def _apply(self, change: str, body: JsonObject) -> None:
        namespace, name = key_of(body)
        before, after = self.names.apply(change, body)
        row = None
        if change != "DELETE":
            try:
                row = row_of_run(body)
            except UNREADABLE as error:
                logger.warning("run.unreadable", extra={"run": name, "reason": repr(error)})
        if before not in (None, after) and not self._may_be_archived((namespace, before)):
            self._remove((namespace, before))
        if row is not None:
            key = namespace, row[0]
            self._leaving.discard(key)
            self._db.execute(_PUT, row)
            self.archive.note_live(*reversed(key))
            self._notify(RowChange(row[_ORGANIZATION], *key, row))
        elif after is not None:
            self._remove((namespace, after))
        for handler in self._also:
            handler(change, body)

    def _may_be_archived(self, key: Key) -> bool:
        """Keep a finished run as leaving; False for others."""
        if self._on_leaving is None:
            return False
        query = "SELECT organization, phase FROM runs WHERE namespace = ? AND run_id = ?"
        row = self._db.execute(query, key).fetchone()
        if row is None or row[1] not in FINAL:
            return False
        self._leaving.add(key)
        self._on_leaving(row[0], key)
        return True

    def _remove(self, key: Key, *, quietly: bool = False) -> None:
        gone = "DELETE FROM runs WHERE namespace = ? AND run_id = ? RETURNING organization"
        owner = self._db.execute(gone, key).fetchone()
        if owner is None:
            return
        self.archive.note_gone(key[1], key[0])
        if not quietly:
            self._notify(RowChange(owner[0], *key))

    def _notify(self, change: RowChange) -> None:
        for listener in self._listeners:
            listener(change)


def _names(prefix: str, values: Sequence[object]) -> str:
    return ", ".join(f":{prefix}{number}" for number in range(len(values)))
