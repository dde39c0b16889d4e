"""The list of runs: an in-memory SQLite table that a watch feeds (architecture section 3).

It knows what lists show and filter by, and no answers, so that 100,000 runs need tens of megabytes. Own writes are put
in at once; single runs are never read from it. Expiry is part of each query, so a run is expired at its instant.
"""

import asyncio
import logging
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.kube.informer import Handler, Informer, key_of
from checklist_crds.kube.kinds import RUN
from checklist_crds.resource_types import ORGANIZATION_LABEL
from checklist_crds.run_types import RunPhase
from checklist_crds.times import format_timestamp, parse_timestamp

logger = logging.getLogger(__name__)

_FIRST_LIST_WITHIN_S: Final = 1.0
_COLUMNS: Final = (
    "run_id",
    "namespace",
    "organization",
    "phase",
    "template_id",
    "template_v",
    "template_name",
    "executor_ref",
    "created_at",
    "started_at",
    "completed_at",
    "cancelled_at",
    "expires_at",
    "assigned_to",
    "identity_mode",
    "identity_name",
    "identity_email",
    "identity_user_id",
    "total",
    "answered",
    "skipped",
)
_SCHEMA: Final = f"""
CREATE TABLE runs ({", ".join(_COLUMNS)}, PRIMARY KEY (run_id, namespace)) WITHOUT ROWID;
CREATE INDEX newest ON runs (organization, created_at, run_id, namespace, phase, expires_at);
CREATE INDEX newest_of_template ON runs (organization, template_id, created_at, run_id, namespace, phase, expires_at);
CREATE INDEX newest_of_reference ON runs (organization, executor_ref, created_at, run_id);
"""
_PUT: Final = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - no input in it
_STATUS: Final = "CASE WHEN expires_at <= :now AND phase IN ('pending', 'in_progress') THEN 'expired' ELSE phase END"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs of an organization; every field that is set must hold. Times exclude their instant."""

    status: str | None = None
    template_id: str | None = None
    executor_ref: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


class RunIndex:
    """All admitted runs of the cluster, for lists."""

    def __init__(self, watcher: KubeClient) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(_SCHEMA)
        self._also: list[Handler] = []
        self.informer = Informer(watcher, RUN, self._apply)

    def also_tell(self, handler: Handler) -> None:
        """Whoever else wants to hear what the watch brings."""
        self._also.append(handler)

    def observe(self, body: JsonObject) -> None:
        """Apply an own write at once."""
        self.informer.observe(body)

    async def wait_for_first_list(self) -> None:
        """Raises KubeUnavailable when the runs are not read soon."""
        try:
            await asyncio.wait_for(self.informer.synced.wait(), _FIRST_LIST_WITHIN_S)
        except TimeoutError:
            raise KubeUnavailable("the runs are not read yet") from None

    def namespace_of(self, run_id: str) -> str | None:
        """Where the run is, if the index knows it."""
        row = self._db.execute("SELECT namespace FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return row[0] if row else None

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
        """How many runs there are, and those of one page as lists show them; newest first, the id breaks ties."""
        conditions = ["organization = :organization", f"namespace IN ({_names('n', namespaces)})"]
        values: dict[str, Any] = {"organization": organization, "now": _milliseconds(now)}
        values |= {f"n{number}": namespace for number, namespace in enumerate(namespaces)}
        if wanted.status is not None:
            conditions.append(f"{_STATUS} = :status")
            values["status"] = wanted.status
        if wanted.template_id is not None:
            conditions.append("template_id = :template_id")
            values["template_id"] = wanted.template_id
        if wanted.executor_ref is not None:
            conditions.append("executor_ref = :executor_ref")
            values["executor_ref"] = wanted.executor_ref
        if wanted.created_after is not None:
            conditions.append("created_at > :created_after")
            values["created_after"] = _milliseconds(wanted.created_after)
        if wanted.created_before is not None:
            conditions.append("created_at < :created_before")
            values["created_before"] = _milliseconds(wanted.created_before)
        where = " AND ".join(conditions)
        total = int(self._db.execute(f"SELECT COUNT(*) FROM runs WHERE {where}", values).fetchone()[0])  # noqa: S608
        if offset >= total:
            return total, []
        rows = self._db.execute(
            f"SELECT *, {_STATUS} FROM runs WHERE {where} "  # noqa: S608 - conditions are ours, values are bound
            "ORDER BY created_at DESC, run_id DESC LIMIT :limit OFFSET :offset",
            values | {"limit": limit, "offset": offset},
        )
        return total, [_summary(row) for row in rows]

    def close(self) -> None:
        self._db.close()

    def _apply(self, change: str, body: JsonObject) -> None:
        namespace, run_id = key_of(body)
        row = None
        if change != "DELETE":
            try:
                row = _row(body)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                logger.warning("run.unreadable", extra={"run_id": run_id, "reason": repr(error)})
        if row is None:
            self._db.execute("DELETE FROM runs WHERE run_id = ? AND namespace = ?", (run_id, namespace))
        else:
            self._db.execute(_PUT, row)
        for handler in self._also:
            handler(change, body)


def _names(prefix: str, values: Sequence[object]) -> str:
    return ", ".join(f":{prefix}{number}" for number in range(len(values)))


def _row(body: JsonObject) -> tuple[Any, ...] | None:
    """The row of a run, or None for one that the operator has not admitted. From the plain object: models cost time."""
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    resolved = spec.get("resolved") or status.get("resolved")
    if resolved is None:
        return None
    created_at = _instant(spec.get("createdAt") or metadata["creationTimestamp"])
    expires_at = _instant(spec.get("expiresAt"))
    if expires_at is None and created_at is not None and spec.get("expiresInHours") is not None:
        expires_at = created_at + math.ceil(spec["expiresInHours"] * 3_600_000)
    identity = status.get("identity") or {}
    progress = status.get("progress") or {"total": resolved["applicableSteps"], "answered": 0, "skipped": 0}
    return (
        metadata["name"],
        metadata["namespace"],
        resolved.get("organization") or (metadata.get("labels") or {}).get(ORGANIZATION_LABEL),
        RunPhase(status.get("phase") or RunPhase.PENDING).rest,
        resolved["templateId"],
        resolved["templateVersion"],
        resolved["templateName"],
        spec.get("executorRef"),
        created_at,
        _instant(status.get("startedAt")),
        _instant(status.get("completedAt")),
        _instant(status.get("cancelledAt")),
        expires_at,
        status.get("assignedTo"),
        resolved["identityMode"],
        identity.get("name"),
        identity.get("email"),
        identity.get("userId"),
        progress["total"],
        progress["answered"],
        progress["skipped"],
    )


def _summary(row: tuple[Any, ...]) -> dict[str, Any]:
    run = dict(zip((*_COLUMNS, "status"), row, strict=True))
    return {
        "run_id": run["run_id"],
        "status": run["status"],
        "template_id": run["template_id"],
        "template_v": run["template_v"],
        "template_name": run["template_name"],
        "executor_ref": run["executor_ref"],
        "created_at": _timestamp(run["created_at"]),
        "started_at": _timestamp(run["started_at"]),
        "completed_at": _timestamp(run["completed_at"]),
        "cancelled_at": _timestamp(run["cancelled_at"]),
        "expires_at": _timestamp(run["expires_at"]),
        "assigned_to": run["assigned_to"],
        "executor_identity": _identity(run),
        "progress": {"total": run["total"], "answered": run["answered"], "skipped": run["skipped"]},
    }


def _identity(run: dict[str, Any]) -> dict[str, Any]:
    match run["identity_mode"]:
        case "external":
            return {"mode": "external", "name": run["identity_name"], "email": run["identity_email"]}
        case "member":
            return {"mode": "member", "user_id": run["identity_user_id"]}
        case mode:
            return {"mode": mode}


def _instant(text: str | None) -> int | None:
    return None if text is None else _milliseconds(parse_timestamp(text))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _timestamp(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return format_timestamp(
        datetime.fromtimestamp(milliseconds // 1000, UTC).replace(microsecond=milliseconds % 1000 * 1000)
    )
