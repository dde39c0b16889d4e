"""A term of leadership: everything that works while this process holds the lease, wired together.

It is built anew for each term, so nothing that an earlier one believed can outlive it.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final

from checklist_crds.kube.client import JsonObject, KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.kube.informer import Key
from checklist_crds.kube.kinds import API_KEY, MEMBER, ORGANIZATION, RUN, TEMPLATE, WEBHOOK_DELIVERY, Kind
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.photo_store import PhotoStore
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.resource_types import API_VERSION, GROUP
from checklist_crds.times import Clock
from checklist_operator.controllers.deliveries import Deliveries
from checklist_operator.controllers.members import Members
from checklist_operator.controllers.organizations import Organizations
from checklist_operator.controllers.photo_collector import PhotoCollector
from checklist_operator.controllers.retention import Retention
from checklist_operator.controllers.revisions import RevisionCollector
from checklist_operator.controllers.run_admission import RunAdmission
from checklist_operator.controllers.run_expiry import RunExpiry
from checklist_operator.controllers.run_outbox import RunOutbox
from checklist_operator.controllers.templates import Templates
from checklist_operator.delivery.fairness import Permits
from checklist_operator.delivery.sender import Sender
from checklist_operator.delivery_objects import DeliveryObjects
from checklist_operator.embedding import EmbeddedKopf
from checklist_operator.event_photos import EventPhotos
from checklist_operator.handlers import WATCHED
from checklist_operator.json_logging import about
from checklist_operator.metrics import Metrics
from checklist_operator.resync import resync
from checklist_operator.settings import Settings
from checklist_operator.signing_secrets import SigningSecrets
from checklist_operator.tenancy import Tenancy
from checklist_operator.timers import Timers
from checklist_operator.transmission import Transmitter
from checklist_operator.work_queue import WorkQueue

logger = logging.getLogger(__name__)

DRAIN_S: Final = 4.0
"""How long a clean end waits for what is in flight; what takes longer is sent again by the next leader."""


class Term:
    """`run` it, and `stop` it at the end."""

    def __init__(
        self,
        settings: Settings,
        client: KubeClient,
        metrics: Metrics,
        *,
        clock: Clock,
        take_signals: Callable[[], None],
    ) -> None:
        """`take_signals` handles the process's signals again after Kopf, which takes them at each of its starts."""
        self._settings = settings
        self._client = client
        self._metrics = metrics
        self._tasks: list[asyncio.Task[None]] = []
        self._over = False
        self._timers = Timers(clock)
        self._ledger = QuotaLedger(client, clock)
        self._sender = Sender(settings.addresses, expires_s=settings.signature_expires_s)
        self._permits = Permits(settings.limits)
        revisions = RevisionStore(client)
        secrets = SigningSecrets(client, settings.key_ring)
        transmitter = Transmitter(self._sender, self._permits, metrics)
        tenancy = Tenancy(client, settings.namespace)
        objects = DeliveryObjects(client, settings.schedule, clock=clock)
        on_removed = self._count_removed
        store = PhotoStore.open(settings.photo_store)
        key = settings.server_key
        photos = EventPhotos(store, SignedUrls(key, settings.base_url, clock) if key is not None else None)
        self.outbox = RunOutbox(
            client,
            revisions=revisions,
            secrets=secrets,
            transmitter=transmitter,
            deliveries=objects,
            metrics=metrics,
            clock=clock,
            photos=photos,
            allow_insecure=settings.allow_insecure_targets,
            on_bug=self._count_bug,
        )
        self.deliveries = Deliveries(
            client,
            objects=objects,
            secrets=secrets,
            transmitter=transmitter,
            photos=photos,
            timers=self._timers,
            metrics=metrics,
            clock=clock,
            holder=settings.operator_id,
            on_bug=self._count_bug,
        )
        self.templates = Templates(client, clock=clock, on_change=self._template_changed, on_bug=self._count_bug)
        self.admission = RunAdmission(
            client,
            tenancy=tenancy,
            ledger=self._ledger,
            revisions=revisions,
            secrets=secrets,
            metrics=metrics,
            clock=clock,
            name_of=self.templates.name_of,
            allow_insecure=settings.allow_insecure_targets,
            on_bug=self._count_bug,
        )
        self.expiry = RunExpiry(
            client,
            self._timers,
            metrics,
            clock=clock,
            on_unadmitted=self.admission.look_at,
            on_bug=self._count_bug,
        )
        self.organizations = Organizations(
            client,
            self._ledger,
            self._timers,
            clock=clock,
            installation_namespace=settings.namespace,
            pending_after_s=settings.pending_quota_after_s,
            on_change=self._organization_changed,
            on_bug=self._count_bug,
        )
        self.members = Members(client, tenancy, clock=clock, on_bug=self._count_bug)
        self.revisions = RevisionCollector(
            client,
            revisions,
            clock=clock,
            grace_s=settings.revision_grace_s,
            namespaces=settings.watch_namespaces,
            on_removed=on_removed,
        )
        self.photos = PhotoCollector(
            client,
            store,
            clock=clock,
            namespaces=(settings.namespace, *settings.watch_namespaces),
            orphan_after=timedelta(seconds=settings.photo_orphan_after_s),
            on_removed=on_removed,
            on_bug=self._count_bug,
        )
        self.retention = Retention(
            client,
            clock=clock,
            namespaces=settings.watch_namespaces,
            on_removed=on_removed,
            on_run_removed=self.photos.run_removed,
        )
        self._kopf = EmbeddedKopf(
            self.observe,
            namespaces=settings.watch_namespaces,
            on_start=take_signals,
            on_restart=metrics.kopf_restarts.inc,
        )

    @property
    def is_ready(self) -> bool:
        return self._kopf.is_ready

    async def run(self) -> None:
        """Works until cancelled; raises what nobody foresaw. `stop` is to be called afterwards in any case."""
        self._watch_sizes()
        await self._wait_for_crds()
        settings = self._settings
        self._spawn("timers", self._timers.run())
        self._every("resync", settings.resync_every_s, self._resync)
        self._every("retention", settings.sweep_every_s, self.retention.sweep)
        self._every("revisions", settings.sweep_every_s, self.revisions.sweep)
        self._every("photos", settings.photo_sweep_every_s, self.photos.sweep)
        self._spawn("kopf", self._kopf.run())
        ended, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()

    async def stop(self, *, gracefully: bool) -> None:
        """Ends all work. `gracefully`: what is in flight may end first; not so when the lease is lost."""
        self._over = True
        if gracefully:
            await asyncio.gather(self.outbox.drain(DRAIN_S), self.deliveries.drain(DRAIN_S))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(
            self.outbox.close(),
            self.deliveries.close(),
            *(queue.close() for queue in self._queues()),
            *self._tasks,
            return_exceptions=True,
        )
        await self._sender.close()
        await self._ledger.close()

    def observe(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        """What the watch or a resync brought. One object that cannot be read must not hide the others."""
        if self._over:
            return
        self._metrics.events.labels(kind.kind).inc()
        try:
            self._show(kind, type_, body)
        except Exception:
            name = body.get("metadata", {}).get("name")
            logger.exception("an object was not understood", extra=about(kind=kind.kind, name=name))
            self._count_bug("observe")

    def _show(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        if kind == RUN:
            self.expiry.observe(type_, body)
            self.admission.observe(type_, body)
            self.outbox.observe(type_, body)
            self.photos.observe(type_, body)
        elif kind == WEBHOOK_DELIVERY:
            self.deliveries.observe(type_, body)
        elif kind == TEMPLATE:
            self.templates.observe(type_, body)
        elif kind == ORGANIZATION:
            self.organizations.observe(type_, body)
        elif kind in (MEMBER, API_KEY):
            self.members.observe(kind, type_, body)

    # -- connections between concerns -----------------------------------------------------------------------------

    def _template_changed(self, key: Key, template_id: str) -> None:
        self.admission.cause_changed(key[1], template_id)

    def _organization_changed(self, name: str) -> None:
        self.admission.cause_changed(name)
        self.members.organization_changed(name)

    def _count_bug(self, where: str) -> None:
        self._metrics.bugs.labels(where).inc()

    def _count_removed(self, kind: str) -> None:
        self._metrics.removals.labels(kind).inc()

    async def _resync(self) -> None:
        await resync(self._client, self.observe, self._settings.watch_namespaces)

    # -- machinery ------------------------------------------------------------------------------------------------

    def _queues(self) -> list[WorkQueue[Any]]:
        return [
            self.outbox.queue,
            self.deliveries.queue,
            self.templates.queue,
            self.admission.queue,
            self.expiry.queue,
            self.organizations.queue,
            self.members.queue,
            self.photos.queue,
        ]

    def _watch_sizes(self) -> None:
        for queue in self._queues():
            self._metrics.watch_size(f"queue:{queue.name}", queue.__len__)
        self._metrics.watch_size("heap", self._timers.__len__)
        self._metrics.watch_size("first_attempts", lambda: self.outbox.in_flight)
        self._metrics.watch_size("retries_in_flight", lambda: self.deliveries.in_flight)
        self._metrics.watch_size("permits", lambda: self._permits.in_flight)
        self._metrics.watch_size("waiting_for_permit", lambda: self._permits.waiting)
        self._metrics.watch_size("slow_hosts", lambda: self._permits.slow_hosts)
        self._metrics.watch_size("refused_runs", lambda: self.admission.refused)

    def _spawn(self, name: str, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

    def _every(self, name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await work()
                except KubeError as error:
                    logger.warning("%s: %s", name, error.message)
                except Exception:
                    logger.exception("%s failed unexpectedly", name)
                    self._count_bug(name)

        self._spawn(name, repeat())

    async def _wait_for_crds(self) -> None:
        """Kopf looks once for the kinds to watch; so it must not look too early."""
        told = False
        while not await self._has_crds():
            if not told:
                logger.warning("the custom resources are not installed (or not all of them); waiting")
                told = True
            await asyncio.sleep(1.0)

    async def _has_crds(self) -> bool:
        """Whether discovery shows them all, in both of the lists that Kopf reads: one may lag behind the other."""
        try:
            groups = await self._discover("/apis", "groups")
            kinds = await self._discover(f"/apis/{API_VERSION}", "resources")
        except KubeError:
            return False
        return GROUP in groups and all(kind.plural in kinds for kind in WATCHED)

    async def _discover(self, path: str, what: str) -> set[str]:
        status, text = await self._client.raw_get(path)
        return {entry["name"] for entry in json.loads(text)[what]} if status == 200 else set()
