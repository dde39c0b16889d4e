"""In-memory SQLite index of the newest audit entries, fed by a watch. Entries are immutable.

The number of entries is bounded per organization and in total. Older entries remain in the cluster, where the export
reads them.
"""

import json
import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.informer import Informer
from checklist_crds.resources.audit_entry import AuditEntrySpec
from checklist_crds.resources.kinds import AUDIT_ENTRY, key_of
from checklist_crds.times import format_timestamp
from checklist_crds.values.json_text import JsonObject

from ..organizations.directory import Organization

logger = logging.getLogger(__name__)

MAX_PER_ORGANIZATION: Final = 10_000
MAX_TOTAL: Final = 50_000
_COLUMNS: Final = ("name", "namespace", "organization", "at", "actor_id", "action", "target_id", "outcome", "entry")
_SCHEMA: Final = f"""
CREATE TABLE entries ({", ".join(_COLUMNS)}, PRIMARY KEY (name, namespace)) WITHOUT ROWID;
CREATE INDEX newest ON entries (organization, at, name);
CREATE INDEX oldest ON entries (at, name);
"""
_PUT: Final = f"INSERT OR REPLACE INTO entries VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - no input in it


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Selects entries; all set fields must match. Times are exclusive.

    `action`: one action, or its prefix without a dot for all actions of a kind (`template`).
    """

    actor: str | None = None
    action: str | None = None
    target: str | None = None
    outcome: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    def matches(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry, as rendered by `audit_view`, matches."""
        at, action = entry["at"], str(entry["action"])
        return (
            self.actor in (None, entry["actor"]["id"])
            and self.action in (None, action, action.partition(".")[0])
            and self.target in (None, entry["target"]["id"])
            and self.outcome in (None, entry["outcome"])
            and (self.after is None or at > format_timestamp(self.after))
            and (self.before is None or at < format_timestamp(self.before))
        )


class AuditIndex:
    """Lists the newest entries of each organization."""

    def __init__(
        self, watcher: KubeClient, *, max_per_organization: int = MAX_PER_ORGANIZATION, max_total: int = MAX_TOTAL
    ) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)
        self._max_per_organization = max_per_organization
        self._max_total = max_total
        self._counts: dict[str, int] = {}
        self._total = 0
        self._evicted: set[str] = set()
        """Organizations with evicted entries."""
        self.informer = Informer(watcher, AUDIT_ENTRY, self._apply)

    def close(self) -> None:
        self._db.close()

    def observe(self, body: JsonObject) -> None:
        """Apply an own write."""
        self.informer.observe(body)

    def is_complete(self, organization: Organization) -> bool:
        """Whether all entries of the organization are indexed."""
        return organization.name not in self._evicted

    def page(
        self, organization: Organization, wanted: AuditFilter, *, offset: int, limit: int
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return the total and one page; newest first."""
        conditions = ["organization = :organization", "namespace IN (:namespace, :other)"]
        values = {
            "organization": organization.name,
            "namespace": organization.namespace,
            "other": organization.namespaces[-1],
        }
        for column, value in (("actor_id", wanted.actor), ("target_id", wanted.target), ("outcome", wanted.outcome)):
            if value is not None:
                conditions.append(f"{column} = :{column}")
                values[column] = value
        if wanted.action is not None:
            conditions.append("(action = :action OR substr(action, 1, instr(action, '.') - 1) = :action)")
            values["action"] = wanted.action
        for name, sign, moment in (("after", ">", wanted.after), ("before", "<", wanted.before)):
            if moment is not None:
                conditions.append(f"at {sign} :{name}")
                values[name] = format_timestamp(moment)
        where = " AND ".join(conditions)
        [total] = self._db.execute(f"SELECT count(*) FROM entries WHERE {where}", values).fetchone()  # noqa: S608
        rows = self._db.execute(
            f"SELECT entry FROM entries WHERE {where} ORDER BY at DESC, name DESC LIMIT :limit OFFSET :offset",  # noqa: S608
            {**values, "limit": limit, "offset": offset},
        )
        return total, [json.loads(entry) for (entry,) in rows]

    def _apply(self, change: str, body: JsonObject) -> None:
        namespace, name = key_of(body)
        self._remove(name, namespace)
        if change == "DELETE":
            return
        try:
            spec = AuditEntrySpec.model_validate(body.get("spec") or {})
        except ValidationError as error:
            logger.warning("audit.unreadable", extra={"entry": name, "reason": error.errors()[0]["msg"]})
            return
        organization = spec.organization_ref.name
        view = audit_view(name, spec)
        entry = json.dumps(view, ensure_ascii=False, separators=(",", ":"))
        row = (name, namespace, organization, view["at"], spec.actor.id, spec.action, spec.target.id, spec.outcome)
        self._db.execute(_PUT, (*row, entry))
        self._counts[organization] = self._counts.get(organization, 0) + 1
        self._total += 1
        if self._counts[organization] > self._max_per_organization:
            self._evict_oldest("WHERE organization = ?", (organization,))
        elif self._total > self._max_total:
            self._evict_oldest("", ())

    def _evict_oldest(self, where: str, values: tuple[str, ...]) -> None:
        query = f"SELECT name, namespace, organization FROM entries {where} ORDER BY at, name LIMIT 1"  # noqa: S608
        name, namespace, organization = self._db.execute(query, values).fetchone()
        self._remove(name, namespace)
        self._evicted.add(organization)
        self.informer.release((namespace, name))

    def _remove(self, name: str, namespace: str) -> None:
        query = "DELETE FROM entries WHERE name = ? AND namespace = ? RETURNING organization"
        for (organization,) in self._db.execute(query, (name, namespace)).fetchall():
            self._total -= 1
            self._counts[organization] -= 1
            if not self._counts[organization]:
                del self._counts[organization]


def audit_view(name: str, spec: AuditEntrySpec) -> dict[str, Any]:
    """Render an entry for lists and the export."""
    return {
        "id": name,
        "at": format_timestamp(spec.at),
        "actor": {
            "kind": spec.actor.kind.value,
            "id": spec.actor.id,
            "name": spec.actor.name,
            "email": spec.actor.email,
        },
        "action": spec.action,
        "target": {"kind": spec.target.kind, "id": spec.target.id, "name": spec.target.name},
        "outcome": spec.outcome.value,
        "details": dict(spec.details),
        "request_id": spec.request_id,
        "address": spec.address,
    }
