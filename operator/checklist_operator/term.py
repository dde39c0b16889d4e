"""A term of leadership: builds and connects all components that work while this process holds the lease.

Each term has new components, so no state of an earlier one survives.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.seal_record import read_records
from checklist_crds.photos.store import PhotoStore
from checklist_crds.photos.urls import SignedUrls
from checklist_crds.platform.readiness import Check
from checklist_crds.platform.tracing import NO_TRACES, Tracing
from checklist_crds.resources.kinds import (
    API_KEY,
    DASHBOARD_SESSION,
    DELIVERY_REPLAY,
    IDEMPOTENCY_RECORD,
    MEMBER,
    ORGANIZATION,
    RUN,
    TEMPLATE,
    WEBHOOK_DELIVERY,
    Key,
    Kind,
)
from checklist_crds.runs.seal import RunSeals
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.archive.archiver import Archiver
from checklist_operator.archive.membership import ArchiveMembership
from checklist_operator.attempts.envelopes import EventPhotos
from checklist_operator.attempts.pauses import Pauses
from checklist_operator.attempts.send import Transmitter
from checklist_operator.attempts.signing_secrets import SigningSecrets
from checklist_operator.attempts.wiring import AttemptParts
from checklist_operator.controllers.deliveries import Deliveries
from checklist_operator.controllers.ended_condition import EndedConditions
from checklist_operator.controllers.expired_collector import ExpiredCollector
from checklist_operator.controllers.link_secrets import LinkSecretSweep
from checklist_operator.controllers.members import Members
from checklist_operator.controllers.organizations import Organizations
from checklist_operator.controllers.photo_collector import PhotoCollector
from checklist_operator.controllers.retention import Retention
from checklist_operator.controllers.revision_collector import RevisionCollector
from checklist_operator.controllers.run_admission import RunAdmission
from checklist_operator.controllers.run_expiry import RunExpiry
from checklist_operator.controllers.run_links import RunLinks
from checklist_operator.controllers.run_outbox import RunOutbox
from checklist_operator.controllers.run_pauses import RunPauses
from checklist_operator.controllers.run_seals import RunSealKeeper
from checklist_operator.controllers.templates import Templates
from checklist_operator.controllers.tenancy import Tenancy
from checklist_operator.replays.delivery_replays import DeliveryReplays
from checklist_operator.replays.requests import ReplayRequests
from checklist_operator.replays.settled_deliveries import SettledDeliveries
from checklist_operator.runtime.crd_discovery import wait_for_crds
from checklist_operator.runtime.deadlines import ShutdownDeadlines
from checklist_operator.runtime.embedding import EmbeddedKopf
from checklist_operator.runtime.handover import MOST_ATTEMPTS, NO_HANDOVER, Handover, InheritedAttempts
from checklist_operator.runtime.json_logging import about
from checklist_operator.runtime.kube_events import EventRecorder
from checklist_operator.runtime.leader import Lead
from checklist_operator.runtime.metrics import Metrics
from checklist_operator.runtime.paging import resync
from checklist_operator.runtime.timers import Timers
from checklist_operator.runtime.work_queue import WorkQueue
from checklist_operator.settings import Settings
from checklist_operator.transport.fairness import Permits
from checklist_operator.transport.sender import Sender

logger = logging.getLogger(__name__)


class Term:
    """Wires all components for one period of leadership. Call `run`, and `stop` at the end."""

    def __init__(
        self,
        settings: Settings,
        client: KubeClient,
        metrics: Metrics,
        *,
        seals: RunSeals,
        clock: Clock,
        take_signals: Callable[[], None],
        lead: Lead,
        handover: Handover = NO_HANDOVER,
        tracing: Tracing = NO_TRACES,
    ) -> None:
        """`client` reads through `seals`. `take_signals` installs the process's signal handlers again after each start
        of Kopf, which installs its own; `handover` is from the previous leader."""
        self._settings = settings
        self._seals = seals
        self._client = client
        self._metrics = metrics
        self._tasks: list[asyncio.Task[None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._event_writer: asyncio.Task[None] | None = None
        self._over = False
        self._has_definitions = False
        self._timers = Timers(clock)
        self._ledger = QuotaLedger(client, clock)
        self._limits = LimitLedger(
            client, clock, limits=settings.organization_limits.limits, installation_namespace=settings.namespace
        )
        self._sender = Sender(
            settings.addresses,
            expires_s=settings.signature_expires_s,
            name_servers=settings.name_servers,
            trusted=settings.trusted,
        )
        self._permits = Permits(settings.limits)
        transmitter = Transmitter(
            sender=self._sender, permits=self._permits, metrics=metrics, leads=lead.is_certain, tracing=tracing
        )
        revisions, secrets = RevisionStore(client), SigningSecrets(client, settings.sealing)
        tenancy = Tenancy(client, settings.namespace, settings.watch_namespaces)
        self._kube_events = kube_events = EventRecorder(client, instance=settings.operator_id, clock=clock)
        self._pauses = pauses = Pauses(client, on_resume=self._resumed)
        on_removed = self._count_removed
        store = PhotoStore.open(settings.photo_store, settings.s3_keys)
        self._inherited = InheritedAttempts(handover)
        self._attempts = attempts = AttemptParts.build(
            client,
            transmitter,
            self._permits,
            revisions=revisions,
            secrets=secrets,
            pauses=pauses,
            photos=EventPhotos(store, SignedUrls(settings.server_key, settings.base_url, clock)),
            inherited=self._inherited,
            confirm_lead=lead.confirm,
            holder=settings.operator_id,
            schedule=settings.schedule,
            claims_per_s=settings.claims_per_s,
            allow_insecure=settings.insecure_targets,
            metrics=metrics,
            kube_events=kube_events,
            clock=clock,
            tracing=tracing,
            on_settled=self._delivery_settled,
        )
        self.outbox = RunOutbox(client, attempts, clock=clock, on_bug=self._count_bug)
        self.deliveries = Deliveries(
            attempts, timers=self._timers, clock=clock, on_gone=self._delivery_settled, on_bug=self._count_bug
        )
        self.replay_requests = ReplayRequests(
            client=client,
            objects=attempts.objects,
            kube_events=kube_events,
            metrics=metrics,
            clock=clock,
            allow_insecure=settings.insecure_targets,
            on_accepted=partial(self.deliveries.observe, "MODIFIED"),
            on_bug=self._count_bug,
        )
        self.replays = DeliveryReplays(
            client,
            requests=self.replay_requests,
            objects=attempts.objects,
            tenancy=tenancy,
            kube_events=kube_events,
            clock=clock,
            namespaces=settings.watch_namespaces,
            on_removed=on_removed,
            on_bug=self._count_bug,
        )
        self._settled_deliveries = SettledDeliveries(
            client=client,
            observe=self.replay_requests.observe,
            namespaces=settings.watch_namespaces,
        )
        self.templates = Templates(
            client,
            tenancy,
            limits=self._limits,
            kube_events=kube_events,
            clock=clock,
            on_change=self._template_changed,
            on_bug=self._count_bug,
        )
        self.run_pauses = RunPauses(
            client,
            kube_events=kube_events,
            clock=clock,
            on_read=lambda body: pauses.observe_run(None, body),
            on_bug=self._count_bug,
        )
        self.ended_conditions = EndedConditions(client, namespaces=settings.watch_namespaces, on_bug=self._count_bug)
        archive = ArchiveStore.open(settings.archive_store, settings.s3_keys)
        self.archiver = Archiver(
            client,
            archive,
            clock=clock,
            writer=settings.operator_id,
            leads=lead.is_certain,
            metrics=metrics,
            on_removed=on_removed,
            is_on=settings.archive,
        )
        archived = ArchiveMembership(archive, self.archiver.has_archived)
        self.seal_keeper = RunSealKeeper(client, seals, tenancy, on_bug=self._count_bug)
        self.admission = RunAdmission(
            client=client,
            tenancy=tenancy,
            ledger=self._ledger,
            revisions=revisions,
            secrets=secrets,
            pauses=pauses,
            metrics=metrics,
            kube_events=kube_events,
            clock=clock,
            archived=archived,
            seals=seals,
            keys=settings.server_key,
            name_of=self.templates.name_of,
            allow_insecure=settings.insecure_targets,
            on_bug=self._count_bug,
        )
        self.links = RunLinks(
            client=client,
            tenancy=tenancy,
            kube_events=kube_events,
            clock=clock,
            run_link=settings.run_link,
            on_bug=self._count_bug,
        )
        self.link_sweep = LinkSecretSweep(client, clock=clock, namespaces=settings.watch_namespaces)
        self.expiry = RunExpiry(
            client,
            self._timers,
            metrics,
            kube_events=kube_events,
            clock=clock,
            on_unadmitted=self.admission.enqueue,
            on_bug=self._count_bug,
        )
        self.organizations = Organizations(
            client,
            self._ledger,
            tenancy,
            self._timers,
            kube_events=kube_events,
            clock=clock,
            installation_namespace=settings.namespace,
            pending_after_s=settings.pending_quota_after_s,
            is_admitting=self.admission.is_admitting,
            on_change=self._organization_changed,
            on_read=lambda body: pauses.observe_organization(None, body),
            on_bug=self._count_bug,
        )
        self.members = Members(client, tenancy, kube_events=kube_events, clock=clock, on_bug=self._count_bug)
        self.revisions = RevisionCollector(
            client=client,
            store=revisions,
            clock=clock,
            grace_s=settings.revision_grace_s,
            namespaces=settings.watch_namespaces,
            on_removed=on_removed,
        )
        self.sessions = ExpiredCollector(
            client, DASHBOARD_SESSION, namespaces=(settings.namespace,), clock=clock, on_removed=on_removed
        )
        self.idempotency_records = ExpiredCollector(
            client, IDEMPOTENCY_RECORD, namespaces=settings.watch_namespaces, clock=clock, on_removed=on_removed
        )
        self.photos = PhotoCollector(
            client=client,
            store=store,
            archived=archived,
            clock=clock,
            namespaces=(settings.namespace, *settings.watch_namespaces),
            orphan_after=timedelta(seconds=settings.photo_orphan_after_s),
            on_removed=on_removed,
            on_bug=self._count_bug,
        )
        self.retention = Retention(
            client=client,
            archiver=self.archiver,
            clock=clock,
            audit_entries=settings.organization_limits.audit_entries,
            namespaces=settings.watch_namespaces,
            metrics=metrics,
            on_removed=on_removed,
            on_run_removed=self.photos.run_removed,
        )
        self._kopf = EmbeddedKopf(
            self.observe,
            namespaces=settings.watch_namespaces,
            on_start=take_signals,
            on_restart=metrics.kopf_restarts.inc,
        )

    def checks(self) -> list[Check]:
        """Checks for the readiness of a leader."""
        return [
            Check("definitions", None if self._has_definitions else "custom resource definitions are missing"),
            Check("watches", None if self._kopf.is_ready else "the watches are not open yet"),
        ]

    async def run(self) -> None:
        """Works until cancelled; raises unexpected errors. Call `stop` afterwards in any case."""
        self._watch_sizes()
        await wait_for_crds(self._client)
        self._has_definitions = True
        await read_records(self._client, self._settings.namespace, self._seals)
        settings = self._settings
        self._spawn("timers", self._timers.run())
        self._every("resync", settings.resync_every_s, self._resync)
        self._every("retention", settings.sweep_every_s, self.retention.sweep)
        self._every("ends of runs", settings.sweep_every_s, self.ended_conditions.sweep)
        self._every("replays", settings.sweep_every_s, self.replays.sweep)
        self._every("revisions", settings.sweep_every_s, self.revisions.sweep)
        self._every("sessions", settings.sweep_every_s, self.sessions.sweep)
        self._every("idempotency records", settings.sweep_every_s, self.idempotency_records.sweep)
        self._every("photos", settings.photo_sweep_every_s, self.photos.sweep)
        if settings.sweep_link_secrets:
            self._every("link secrets", settings.sweep_every_s, self.link_sweep.sweep, at_once=True)
        self._event_writer = self._spawn("events", self._kube_events.run())
        self._spawn("settled deliveries", self._settled_deliveries.run())
        self._watching = self._spawn("kopf", self._kopf.run())
        ended, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()

    async def stop(self, *, gracefully: bool, step_down: Callable[[Handover], Awaitable[None]] | None = None) -> None:
        """Ends all work. `gracefully`: drains attempts in flight first; not when the lease is lost. `step_down` is
        awaited as soon as nothing more is sent, with the attempts that are still being recorded: the next leader need
        not wait for these, nor for closing watches and connections."""
        self._over = True
        if self._watching is not None:  # slow to end, and not needed any more
            self._watching.cancel()
        # Work without deliveries ends at once: it would compete with outstanding records.
        event_writer = [] if self._event_writer is None else [self._event_writer]
        working = [task for task in self._tasks if task not in (self._watching, self._event_writer)]
        for task in working:
            task.cancel()
        delivering = (self.outbox.queue, self.deliveries.queue)
        others = [queue.close() for queue in self._queues() if queue not in delivering]
        closing = asyncio.gather(*others, *working, self._ledger.close(), self._limits.close(), return_exceptions=True)
        transmitter = self._attempts.transmitter
        deadlines = ShutdownDeadlines(
            stop_sending=transmitter.stop_sending, discard_responses=transmitter.discard_responses
        )
        handover = await self._end_sending(deadlines) if gracefully else NO_HANDOVER
        await closing
        if step_down is not None:
            await step_down(handover)
        if gracefully:
            await self._until_recorded(deadlines)
        deadlines.cancel()
        for task in event_writer:
            task.cancel()
        await asyncio.gather(self.outbox.close(), self.deliveries.close(), *event_writer, return_exceptions=True)
        await self._attempts.close()
        self._metrics.forget_watched()
        if self._watching is not None:  # a second cancellation would interrupt its cleanup
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._sender.close()

    async def _end_sending(self, deadlines: ShutdownDeadlines) -> Handover:
        """Stops sending; returns the attempts that are still to be recorded."""
        logger.info("operator.stopping", extra=about(in_flight=self._attempts.pipeline.in_flight))
        for part in (self._attempts.pipeline, self.outbox, self.deliveries):
            part.stop()
        await self._attempts.pipeline.drain_responses(deadlines)
        self._attempts.transmitter.stop_sending()
        self._attempts.transmitter.discard_responses()
        if len(self._unrecorded()) > MOST_ATTEMPTS:
            await self._until_recorded(deadlines)
        return self._inherited.with_ours(self._unrecorded(), max(0.0, deadlines.seconds_for_records()))

    async def _until_recorded(self, deadlines: ShutdownDeadlines) -> None:
        while self._unrecorded() and deadlines.allows_records():  # noqa: ASYNC110 - rare and short
            await asyncio.sleep(0.02)

    def _unrecorded(self) -> dict[str, int]:
        return self.outbox.unrecorded | self._attempts.pipeline.unrecorded

    def observe(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        """Handles an object from a watch or a resync. An unreadable object is logged and skipped."""
        if self._over:
            return
        self._metrics.events.labels(kind.kind).inc()
        try:
            self._seals.check(kind, body)
            self._route_to_controllers(kind, type_, body)
        except Exception:
            name = body.get("metadata", {}).get("name")
            logger.exception("object.not_understood", extra=about(kind=kind.kind, name=name))
            self._count_bug("observe")

    def _route_to_controllers(self, kind: Kind, type_: str | None, body: JsonObject) -> None:
        if kind == RUN:
            self.seal_keeper.observe(type_, body)
            self._pauses.observe_run(type_, body)
            self.run_pauses.observe(type_, body)
            self.ended_conditions.observe(type_, body)
            self.expiry.observe(type_, body)
            self.admission.observe(type_, body)
            self.links.observe(type_, body)
            self.outbox.observe(type_, body)
            self.photos.observe(type_, body)
        elif kind == WEBHOOK_DELIVERY:
            self.deliveries.observe(type_, body)
            self.replay_requests.observe(type_, body)
        elif kind == DELIVERY_REPLAY:
            self.replays.observe(type_, body)
        elif kind == TEMPLATE:
            self.templates.observe(type_, body)
        elif kind == ORGANIZATION:
            self._pauses.observe_organization(type_, body)
            self.organizations.observe(type_, body)
        elif kind in (MEMBER, API_KEY):
            self.members.observe(kind, type_, body)

    # -- callbacks between components -----------------------------------------------------------------------------

    def _template_changed(self, key: Key, template_id: str) -> None:
        self.admission.cause_changed(key[1], template_id)

    def _organization_changed(self, name: str) -> None:
        self.admission.cause_changed(name)
        self.members.organization_changed(name)
        self.templates.room_changed(name)
        self.templates.organization_changed(name)

    def _resumed(self) -> None:
        self.admission.resumed()
        self.outbox.resumed()
        self.deliveries.resumed()

    def _delivery_settled(self, key: Key) -> None:
        self.replays.delivery_settled(key)

    def _count_bug(self, where: str) -> None:
        self._metrics.bugs.labels(where).inc()

    def _count_removed(self, kind: str) -> None:
        self._metrics.removals.labels(kind).inc()

    async def _resync(self) -> None:
        await resync(self._client, self.observe, self._settings.watch_namespaces)

    # -- helpers --------------------------------------------------------------------------------------------------

    def _queues(self) -> list[WorkQueue[Any]]:
        return [
            self.outbox.queue,
            self.deliveries.queue,
            self.replay_requests.queue,
            self.replays.queue,
            self.templates.queue,
            self.admission.queue,
            self.seal_keeper.queue,
            self.links.queue,
            self.expiry.queue,
            self.run_pauses.queue,
            self.ended_conditions.queue,
            self.organizations.queue,
            self.members.queue,
            self.photos.queue,
        ]

    def _watch_sizes(self) -> None:
        for queue in self._queues():
            self._metrics.watch_size(f"queue:{queue.name}", queue.__len__)
        self._metrics.watch_size("heap", self._timers.__len__)
        self._metrics.watch_size("first_attempts", lambda: self.outbox.in_flight)
        self._metrics.watch_size("retries_in_flight", lambda: self._attempts.pipeline.retries_in_flight)
        self._metrics.watch_size("permits", lambda: self._permits.in_flight)
        self._metrics.watch_size("waiting_for_permit", lambda: self._permits.waiting)
        self._metrics.watch_age("first_attempt", self.outbox.oldest_waiting_s)
        self._metrics.watch_age("retry", self.deliveries.oldest_waiting_s)
        self._metrics.watch_size("slow_hosts", lambda: self._permits.slow_hosts)
        self._metrics.watch_size("kubernetes_events", lambda: self._kube_events.waiting)
        self._metrics.watch_size("refused_runs", lambda: self.admission.refused)

    def _spawn(self, name: str, work: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.append(task)
        return task

    def _every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[object]], *, at_once: bool = False
    ) -> None:
        async def repeat() -> None:
            pause = 0.0 if at_once else seconds
            while True:
                await asyncio.sleep(pause)
                pause = seconds
                try:
                    await work()
                except KubeError as error:
                    logger.warning("sweep.failed", extra=about(of=name, reason=error.message))
                except Exception:
                    logger.exception("sweep.bug", extra=about(of=name))
                    self._count_bug(name)

        self._spawn(name, repeat())
