"""Stores sessions as DashboardSession objects, watched by every replica."""

import asyncio
import contextlib
import logging
from datetime import datetime, timedelta
from typing import Final

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.account import DashboardSessionSpec, DashboardSessionStatus
from checklist_crds.resources.kinds import DASHBOARD_SESSION
from checklist_crds.times import format_timestamp
from checklist_crds.values.json_text import JsonObject

from ...auth.members import Person
from .store import Session, object_name

logger = logging.getLogger(__name__)

_USE_WRITE_INTERVAL: Final = timedelta(minutes=5)
_RETRY_FRACTION: Final = 0.2
"""Retry delay of a failed write, as a fraction of the write interval."""


class ClusterSessions:
    """A `SessionStore`."""

    def __init__(self, client: KubeClient, watcher: KubeClient, namespace: str, *, idle: timedelta) -> None:
        """`idle`: idle timeout."""
        self._client = client
        self._idle = idle
        self._use_write_interval = min(_USE_WRITE_INTERVAL, idle / 12)
        self._namespace = namespace
        self._sessions: dict[str, Session] = {}
        """By object name."""
        self._absences = expiring_keys()
        self._written: dict[str, datetime] = {}
        self._being_written: set[str] = set()
        self._writes: set[asyncio.Task[None]] = set()
        self.informer = Informer(watcher, DASHBOARD_SESSION, self._apply, namespace=namespace, silence_s=SILENCE_S)

    async def require_up(self) -> None:
        """No check: every other request uses the cluster, too."""

    async def create(self, session: Session) -> None:
        body = DASHBOARD_SESSION.manifest(object_name(session.sha256), self._namespace, session.spec().to_kube())
        self.informer.observe(await self._client.create(DASHBOARD_SESSION, body, self._namespace))

    async def get(self, sha256: str, now: datetime) -> Session | None:
        name = object_name(sha256)
        if not self.informer.connected or (name not in self._sessions and name not in self._absences):
            await self._look_up(name)
        session = self._sessions.get(name)
        if session is None or session.sha256 != sha256 or self._is_over(session, now):
            return None
        return session

    def _is_over(self, session: Session, now: datetime) -> bool:
        # Use is recorded every few minutes, so a session can expire that much early, never late.
        return now >= session.expires_at or now - (session.last_seen_at or session.created_at) >= self._idle

    def note_use(self, session: Session, now: datetime) -> None:
        every = self._use_write_interval
        if now - (session.last_seen_at or session.created_at) < every:
            return
        name = object_name(session.sha256)
        if name in self._being_written:  # writes could arrive out of order
            return
        written = self._written.get(name)
        if written is not None and now - written < every * _RETRY_FRACTION:
            return
        self._written[name] = now
        self._being_written.add(name)
        task = asyncio.create_task(self._write_use(name, now))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def end(self, sha256: str) -> None:
        name = object_name(sha256)
        with contextlib.suppress(KubeNotFound):
            await self._client.delete(DASHBOARD_SESSION, name, self._namespace)
        self.informer.forget({"metadata": {"namespace": self._namespace, "name": name}})

    async def of_person(self, person: Person, now: datetime) -> list[Session]:
        await self.informer.wait_for_first_list()
        if not self.informer.connected:
            for body in (await self._client.list_all(DASHBOARD_SESSION, self._namespace))[0]:
                self.informer.observe(body)
        found = [each for each in self._sessions.values() if each.person == person and not self._is_over(each, now)]
        return sorted(found, key=lambda session: session.created_at, reverse=True)

    async def close(self) -> None:
        for task in self._writes:
            task.cancel()

    async def _look_up(self, name: str) -> None:
        try:
            self.informer.observe(await self._client.get(DASHBOARD_SESSION, name, self._namespace))
        except KubeNotFound:
            self.informer.forget({"metadata": {"namespace": self._namespace, "name": name}})
            self._absences.add(name)

    async def _write_use(self, name: str, now: datetime) -> None:
        status = {"lastSeenAt": format_timestamp(now)}
        try:
            self.informer.observe(await self._client.patch_status(DASHBOARD_SESSION, name, status, self._namespace))
        except KubeError as error:
            logger.info("session.use_not_written", extra={"reason": error.message})
        finally:
            self._being_written.discard(name)

    def _apply(self, change: str, body: JsonObject) -> None:
        name = str(body["metadata"]["name"])
        self._sessions.pop(name, None)
        if change == "DELETE":
            self._written.pop(name, None)
            return
        try:
            spec = DashboardSessionSpec.model_validate(body.get("spec") or {})
            status = DashboardSessionStatus.model_validate(body.get("status") or {})
        except ValidationError as error:
            logger.warning("session.unreadable", extra={"session": name, "reason": error.errors()[0]["msg"]})
            return
        self._absences.pop(name)
        self._sessions[name] = Session.of(spec, status.last_seen_at)
