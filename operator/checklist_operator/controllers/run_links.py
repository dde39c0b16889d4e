"""Creates the Secret with the link of open runs that have `spec.linkSecretRef`, and sets the condition LinkReady.

The Secret is deleted when the run ends or is deleted. Until then the run is not settled, so the watch shows it also to
a new leader. Status, Events and logs never contain the link: read access to runs must not give access to links.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from attrs import Factory, define, field
from pydantic import ValidationError

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict, KubeNotFound
from checklist_crds.kube.run_writes import StatusChange, change_run_status
from checklist_crds.limits.retention import is_admitted
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.resources.run import FINAL_PHASES, Run, RunStatus
from checklist_crds.runs.link_secret import (
    LINK_READY,
    LinkWork,
    link_work,
    secret_name,
    with_deleted_link_secret,
    with_link_secret,
    with_refused_link_secret,
)
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.controllers.link_secrets import LinkRefused, LinkSecrets
from checklist_operator.controllers.tenancy import Tenancy
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference
from checklist_operator.runtime.work_queue import Backoff, WorkQueue

logger = logging.getLogger(__name__)

_RETRY: Final = Backoff(first=5.0, longest=300.0)


@dataclass(frozen=True, slots=True)
class _Orphan:
    """The Secret of a deleted run."""

    run_uid: str
    secret: str
    secret_uid: str


@define(kw_only=True, eq=False, repr=False, slots=False)
class RunLinks:
    """`observe` takes watch events of unsettled runs. `run_link` returns the link from the organization's public id and
    the run id."""

    _client: KubeClient
    _tenancy: Tenancy
    _kube_events: EventRecorder
    _clock: Clock
    _run_link: Callable[[str, str], str]
    _on_bug: Callable[[str], None]
    _secrets: LinkSecrets = field(default=Factory(lambda self: LinkSecrets(self._client), takes_self=True), init=False)
    _orphans: dict[Key, _Orphan] = field(factory=dict, init=False)
    _refusals: dict[Key, int] = field(factory=dict, init=False)
    queue: WorkQueue[Key] = field(
        default=Factory(
            lambda self: WorkQueue("run_links", self._reconcile, workers=4, on_bug=self._on_bug), takes_self=True
        ),
        init=False,
    )

    def observe(self, type_: str | None, body: JsonObject) -> None:
        reference = body["spec"].get("linkSecretRef")
        if reference is None:
            return
        key, status = key_of(body), body.get("status") or {}
        if type_ == "DELETED":
            self._refusals.pop(key, None)
            self.queue.forget(key)
            if status.get("linkSecretUid"):
                secret = reference.get("name") or key[1]
                self._orphans[key] = _Orphan(body["metadata"]["uid"], secret, status["linkSecretUid"])
                self.queue.add(key)
        elif type_ is None or _is_due(body):  # on a resync, always: the Secret may have been deleted
            self.queue.add(key)

    async def _reconcile(self, key: Key) -> float | None:
        body = await self._read(key)
        orphan = self._orphans.get(key)
        if orphan is not None:
            if body is None or body["metadata"]["uid"] != orphan.run_uid:
                await self._remove_orphan(key, orphan)
            self._orphans.pop(key, None)
        if body is None:
            self._refusals.pop(key, None)
            return None
        try:
            run = Run.parse(body, answers=False)
        except ValidationError:  # reported by its admission
            return None
        work = link_work(run, self._clock())
        if work is not LinkWork.ENSURE:
            self._refusals.pop(key, None)
        if work is LinkWork.REMOVE:
            await self._end(run)
        return await self._ensure(key, run, body) if work is LinkWork.ENSURE else None

    async def _read(self, key: Key) -> JsonObject | None:
        try:
            return await self._client.get(RUN, key[1], key[0])
        except KubeNotFound:
            return None

    async def _ensure(self, key: Key, run: Run, body: JsonObject) -> float | None:
        """Create or keep the Secret and record it. Returns the seconds until the next attempt, if any."""
        organization = run.admitted_as.organization
        try:
            refusal = await self._tenancy.refusal(organization, run.namespace)
            if refusal is not None:
                raise LinkRefused(refusal.reason, refusal.message)
            uid = await self._secrets.ensure(run, self._run_link(object_id("org", organization), run.id))
        except LinkRefused as refused:
            return await self._refuse(key, run, body, refused)
        except KubeConflict:
            return 0.05
        self._refusals.pop(key, None)

        def change(now: Run) -> RunStatus:
            is_open = now.uid == run.uid and link_work(now, self._clock()) is LinkWork.ENSURE
            return with_link_secret(now, uid, now=self._clock()) if is_open else now.status

        written = await self._write(run, change, body)
        if written is None or (written.get("status") or {}).get("linkSecretUid") != uid:
            await self._remove(run, uid)  # ended or deleted concurrently
        elif uid != run.status.link_secret_uid:
            logger.info("run.link_secret_created", extra=about(run_id=run.id, secret=secret_name(run)))
        return None

    async def _refuse(self, key: Key, run: Run, body: JsonObject, refused: LinkRefused) -> float:
        def change(now: Run) -> RunStatus:
            if now.uid != run.uid or link_work(now, self._clock()) is not LinkWork.ENSURE:
                return now.status
            return with_refused_link_secret(now, refused.reason, refused.message, now=self._clock())

        written = await self._write(run, change, body)
        if written is not None and _condition(written) != _condition(body):
            self._kube_events.warn(ObjectReference.of(RUN, body), refused.reason, refused.message)
            logger.info("run.link_refused", extra=about(run_id=run.id, reason=refused.reason))
        self._refusals[key] = self._refusals.get(key, 0) + 1
        return _RETRY.after(self._refusals[key])

    async def _end(self, run: Run) -> None:
        """Delete the Secret of a final run, then remove it from the status."""
        refused: tuple[str, str] | None = None
        try:
            await self._secrets.remove(run.namespace, secret_name(run), run.status.link_secret_uid or "")
        except LinkRefused as error:
            refused = (error.reason, error.message)

        def change(now: Run) -> RunStatus:
            if now.uid != run.uid or link_work(now, self._clock()) is not LinkWork.REMOVE:
                return now.status
            return with_deleted_link_secret(now, refused, now=self._clock())

        if await self._write(run, change, None) is not None and refused is None:
            logger.info("run.link_secret_deleted", extra=about(run_id=run.id, secret=secret_name(run)))

    async def _remove_orphan(self, key: Key, orphan: _Orphan) -> None:
        """Delete the Secret of a deleted run."""
        try:
            await self._secrets.remove(key[0], orphan.secret, orphan.secret_uid)
        except LinkRefused as refused:
            logger.warning("run.link_secret_not_deleted", extra=about(name=key[1], reason=refused.reason))
            return
        logger.info("run.link_secret_deleted", extra=about(name=key[1], secret=orphan.secret))

    async def _remove(self, run: Run, uid: str) -> None:
        await self._remove_orphan((run.namespace, run.name), _Orphan(run.uid, secret_name(run), uid))

    async def _write(self, run: Run, change: StatusChange, known: JsonObject | None) -> JsonObject | None:
        """Returns the run after the write; None if it does not exist."""
        try:
            return await change_run_status(self._client, run.namespace, run.name, change, known=known)
        except KubeNotFound:
            return None


def _is_due(body: JsonObject) -> bool:
    """Whether a watch event requires work. Refused runs are retried by the queue."""
    status = body.get("status") or {}
    if status.get("phase") in FINAL_PHASES:
        return bool(status.get("linkSecretUid"))
    return is_admitted(body) and not status.get("linkSecretUid") and _condition({"status": status}) is None


def _condition(body: JsonObject) -> dict[str, Any] | None:
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == LINK_READY), None)
