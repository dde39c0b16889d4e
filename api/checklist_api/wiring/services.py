"""The parts of one API process: built once, started and closed together."""

import asyncio
import contextlib
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.informer import Informer
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.kube.seal_record import wait_for_records
from checklist_crds.photo_store import InvalidStore, PhotoStore
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.readiness import Check
from checklist_crds.run_seal import RunSeals
from checklist_crds.settings.rotation import Rotation
from checklist_crds.times import Clock, utc_now
from checklist_crds.tracing import Tracing, tracing_to

from ..archive.index import ArchiveIndex
from ..archive.parts import ArchiveParts
from ..archive.reading import ArchivedRuns
from ..audit.index import AuditIndex
from ..audit.trail import AuditTrail
from ..auth.gate import Gate
from ..auth.keys import KeyDirectory
from ..auth.member_names import MemberNames
from ..auth.members import MemberDirectory
from ..cluster.guard import GuardedKubeClient
from ..dashboard.access import DashboardGate
from ..dashboard.keys.admin import ApiKeyAdmin
from ..dashboard.live.access import revalidate_by_polling, revalidate_on_change
from ..dashboard.live.feed import feed
from ..dashboard.live.hub import LiveHub
from ..dashboard.members.admin import MemberAdmin
from ..dashboard.sessions.cluster import ClusterSessions
from ..dashboard.sign_in.accounts import LocalAccounts
from ..dashboard.sign_in.flow import SignIn
from ..dashboard.sign_in.passwords import Passwords
from ..dashboard.sign_in.person_audit import PersonAudit
from ..deliveries.access import DeliveryAccess
from ..deliveries.replays import ReplayDirectory
from ..exports.pdf.press import PdfPress
from ..exports.sending import ExportSlots
from ..generation.generator import Generator
from ..http.rate_limit import LocalRateLimiter, RateLimiter
from ..http.working_folder import WorkingFolder
from ..idempotency import Idempotency
from ..index.deliveries import DeliveryIndex
from ..index.runs import RunIndex
from ..metrics import Metrics
from ..organizations.directory import OrganizationDirectory
from ..photos.intake import PhotoIntake
from ..photos.limits import RECOMMENDED_MEMORY_MIB
from ..photos.processing import ImageWorkers
from ..photos.unused import UnusedPhotos
from ..runs.access import RunAccess
from ..runs.dispatch import Dispatcher
from ..runs.link_owner import LinkOwners
from ..runs.usage import UsageReader
from ..settings.service import InvalidSetting, Settings
from ..templates.catalogue import TemplateCatalogue
from ..templates.versions import TemplateVersions
from ..templates.writes import TemplateWriter

if TYPE_CHECKING:
    from ..dashboard.oidc.flow import Oidc
    from ..dashboard.sessions.redis import RedisSessions
    from ..http.redis_rate_limit import RedisRateLimiter

logger = logging.getLogger(__name__)

_PHOTO_S = 10.0
_CANCELLED_AGAIN_AFTER_S = 1.0
_CLOSED_WITHIN_S = 10.0
"""Processor time that one photo may take."""


@dataclass(slots=True)
class Services:
    """Handle for the life of the parts. `routes` hands each route what it uses; nothing else gets the whole."""

    settings: Settings
    seals: RunSeals
    clock: Clock
    metrics: Metrics
    client: GuardedKubeClient
    watcher: KubeClient
    """For lists and watches: they may take longer than a request can wait."""
    organizations: OrganizationDirectory
    keys: KeyDirectory
    index: RunIndex
    archive: ArchiveIndex
    archived: ArchivedRuns
    deliveries: DeliveryIndex
    replays: ReplayDirectory
    delivery_access: DeliveryAccess
    revisions: RevisionStore
    runs: RunStore
    run_access: RunAccess
    link_owners: LinkOwners
    quota: QuotaLedger
    limits: LimitLedger
    gate: Gate
    shared_limits: "RedisRateLimiter | None"
    """None: rate limits are this process's own."""
    members: MemberDirectory
    sessions: "ClusterSessions | RedisSessions"
    audit: AuditTrail
    audit_index: AuditIndex
    usage: UsageReader
    api_keys: ApiKeyAdmin
    member_admin: MemberAdmin
    dashboard: DashboardGate
    live: LiveHub
    accounts: LocalAccounts
    sign_in: SignIn
    oidc: "Oidc | None"
    """None: nobody signs in with a provider here."""
    idempotency: Idempotency
    templates: TemplateCatalogue
    template_versions: TemplateVersions
    template_writer: TemplateWriter
    dispatcher: Dispatcher
    generator: Generator
    photo_store: PhotoStore
    photo_urls: SignedUrls
    photo_intake: PhotoIntake
    unused_photos: UnusedPhotos
    rotation: Rotation
    tracing: Tracing
    export_slots: ExportSlots
    uploads: WorkingFolder
    press: PdfPress
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    def build(
        cls,
        settings: Settings,
        connection: KubeConnection,
        *,
        clock: Clock = utc_now,
        limiter: RateLimiter | None = None,
    ) -> "Services":
        """Put together; nothing runs yet. Must be called in the event loop that will serve. Raises InvalidSetting."""
        # First, since they may refuse, and nothing is open yet.
        photo_store, archive_store = _photo_store(settings), _archive_store(settings)
        metrics = Metrics()
        seals = RunSeals(settings.server_key)
        client = GuardedKubeClient(connection, metrics, namespaces=settings.watch_namespaces, check=seals.check)
        watcher = KubeClient(connection, namespaces=settings.watch_namespaces, check=seals.check)
        organizations = OrganizationDirectory(client, watcher, settings.namespace)
        keys = KeyDirectory(client, watcher, settings.namespace)
        index = RunIndex(watcher)
        parts = ArchiveParts(archive_store)
        archive = ArchiveIndex(parts, index, metrics)
        archived = ArchivedRuns(archive, parts, index, metrics)
        deliveries = DeliveryIndex(watcher, clock)
        index.also_tell(deliveries.learn_run)
        replays = ReplayDirectory(client, watcher)
        member_names = MemberNames(client)
        members = MemberDirectory(client, watcher)
        sessions = _sessions(settings, client, watcher)
        passwords = Passwords()
        accounts = LocalAccounts(
            client,
            watcher,
            namespace=settings.namespace,
            sealing=settings.sealing,
            passwords=passwords,
            clock=clock,
        )
        shared_limits = _shared_limits(settings, metrics) if limiter is None else None
        limiter = limiter or shared_limits or LocalRateLimiter()
        audit_index = AuditIndex(watcher)
        revisions = RevisionStore(client)
        runs = RunStore(client, revisions, clock)
        quota = QuotaLedger(client, clock)
        limits = LimitLedger(client, clock, limits=settings.caps.limits, installation_namespace=settings.namespace)
        templates = TemplateCatalogue(client, watcher)
        template_versions = TemplateVersions(client, settings.caps.limits)
        idempotency = Idempotency(client, settings.server_key, limits, clock)
        uploads = WorkingFolder(settings.upload_folder)
        workers = ImageWorkers(
            processes=settings.photo_workers, memory_mib=RECOMMENDED_MEMORY_MIB, seconds=_PHOTO_S, folder=uploads.path
        )
        photo_intake = PhotoIntake(photo_store, workers, uploads, metrics)
        gate = Gate(
            rates=settings.rates,
            trusted_proxies=settings.trusted_proxies,
            client=client,
            keys=keys,
            organizations=organizations,
            limiter=limiter,
            metrics=metrics,
            clock=clock,
        )
        dashboard = DashboardGate(
            server_keys=settings.server_key,
            base_url=settings.base_url,
            local_accounts=settings.sign_in.local_accounts,
            client=client,
            gate=gate,
            sessions=sessions,
            accounts=accounts,
            members=members,
            organizations=organizations,
            clock=clock,
        )
        audit = AuditTrail(client, audit_index, clock, trusted_proxies=settings.trusted_proxies)
        live = LiveHub()
        feed(
            live,
            runs=index,
            deliveries=deliveries,
            replays=replays,
            templates=templates,
            keys=keys,
            members=members,
            clock=clock,
        )
        revalidate_on_change(
            live,
            members=members.informer,
            organizations=organizations.informer,
            accounts=accounts.informer,
            sessions=sessions.informer if isinstance(sessions, ClusterSessions) else None,
        )
        run_access = RunAccess(
            client, runs=runs, index=index, organizations=organizations, archived=archived, clock=clock
        )
        return cls(
            settings=settings,
            seals=seals,
            clock=clock,
            metrics=metrics,
            client=client,
            watcher=watcher,
            organizations=organizations,
            keys=keys,
            index=index,
            archive=archive,
            archived=archived,
            deliveries=deliveries,
            replays=replays,
            delivery_access=DeliveryAccess(
                client,
                index=deliveries,
                runs=index,
                archived=archived,
                replays=replays,
                idempotency=idempotency,
                members=member_names,
                clock=clock,
            ),
            revisions=revisions,
            runs=runs,
            run_access=run_access,
            link_owners=LinkOwners(settings.server_key, organizations, index, run_access),
            quota=quota,
            limits=limits,
            gate=gate,
            shared_limits=shared_limits,
            members=members,
            sessions=sessions,
            audit=audit,
            audit_index=audit_index,
            usage=UsageReader(client, quota, clock),
            api_keys=ApiKeyAdmin(client, keys, limits, clock),
            member_admin=MemberAdmin(client, members, limits, settings.server_key, clock),
            dashboard=dashboard,
            live=live,
            accounts=accounts,
            sign_in=SignIn(
                settings=settings.sign_in,
                sealing=settings.sealing,
                trusted_proxies=settings.trusted_proxies,
                client=client,
                gate=dashboard,
                sessions=sessions,
                members=members,
                organizations=organizations,
                accounts=accounts,
                passwords=passwords,
                limiter=limiter,
                metrics=metrics,
                audit=PersonAudit(audit, dashboard),
                clock=clock,
            ),
            oidc=_oidc(settings, clock),
            idempotency=idempotency,
            templates=templates,
            template_versions=template_versions,
            template_writer=TemplateWriter(
                client,
                catalogue=templates,
                versions=template_versions,
                limits=limits,
                idempotency=idempotency,
                clock=clock,
            ),
            dispatcher=Dispatcher(
                client=client,
                templates=templates,
                revisions=revisions,
                quota=quota,
                index=index,
                members=member_names,
                idempotency=idempotency,
                archived=archived,
                sealing=settings.sealing,
                seals=seals,
                metrics=metrics,
                clock=clock,
            ),
            generator=Generator(settings.model, metrics=metrics, clock=clock),
            photo_store=photo_store,
            photo_urls=SignedUrls(settings.server_key, settings.base_url, clock),
            photo_intake=photo_intake,
            unused_photos=UnusedPhotos(photo_intake, run_access),
            rotation=Rotation(settings.files, metrics.setting_is_stale),
            tracing=tracing_to(settings.otlp_endpoint, service="checklist-dispatch-api"),
            export_slots=ExportSlots(),
            uploads=uploads,
            press=PdfPress(photo_store, uploads.path),
        )

    @property
    def informers(self) -> dict[str, Informer]:
        informers = {
            "organizations": self.organizations.informer,
            "apikeys": self.keys.informer,
            "templates": self.templates.informer,
            "runs": self.index.informer,
            "webhookdeliveries": self.deliveries.informer,
            "deliveryreplays": self.replays.informer,
            "members": self.members.informer,
            "localaccounts": self.accounts.informer,
            "auditentries": self.audit_index.informer,
        }
        if isinstance(self.sessions, ClusterSessions):
            informers["dashboardsessions"] = self.sessions.informer
        return informers

    def checks(self) -> list[Check]:
        """What must be so for the process to get requests: it has read everything, and the cluster answers."""
        return [
            *(
                Check(name, None if informer.synced.is_set() else f"{name} are not read yet")
                for name, informer in self.informers.items()
            ),
            Check("kubernetes", self.client.down),
            Check("seals", None if self.seals.since is not None else "the records of sealed runs are not read yet"),
        ]

    def notes(self) -> list[str]:
        """What does not hinder the service, and whoever runs it should know."""
        note = self.shared_limits.note if self.shared_limits is not None else None
        found = (note, self.archive.note)
        return [*(note for note in found if note is not None), *self.rotation.notes]

    async def start(self) -> None:
        if self.shared_limits is not None:
            self.shared_limits.start()
        await self.photo_intake.start()
        self.index.archive.keep_below(self.uploads.path)
        for name, informer in self.informers.items():
            watching = self._watch_runs() if informer is self.index.informer else informer.run()
            self._tasks.append(asyncio.create_task(watching, name=f"watch {name}"))
        self._tasks.append(asyncio.create_task(self.archive.run(), name="follow the archive"))
        self._tasks.append(asyncio.create_task(self.client.watch_over(), name="watch over the cluster"))
        self._tasks.append(asyncio.create_task(self.rotation.run(), name="read changed files of settings"))
        self._tasks.append(asyncio.create_task(self.generator.warm_up(), name="warm the composer up"))
        if not isinstance(self.sessions, ClusterSessions):
            asking = revalidate_by_polling(self.live, self.sessions.are_there)
            self._tasks.append(asyncio.create_task(asking, name="ask for the sessions of open streams"))
        for task in self._tasks:
            task.add_done_callback(_log_task_failure)

    async def _watch_runs(self) -> None:
        """Until cancelled. They are shown when it is known which of them have to be sealed."""
        await wait_for_records(self.watcher, self.settings.namespace, self.seals)
        await self.index.informer.run()

    async def close(self) -> None:
        """Write what is still to be written, then let go of everything."""
        await self.photo_intake.close()
        await self.generator.close()
        await self.quota.close()
        await self.limits.close()
        self.sign_in.close()
        await self.sessions.close()
        if self.shared_limits is not None:
            await self.shared_limits.close()
        if self.oidc is not None:
            await self.oidc.close()
        await _end(self._tasks)
        self._tasks.clear()
        for connections in (self.client, self.watcher):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSED_WITHIN_S):
                    await connections.close()
        self.index.close()
        self.deliveries.close()
        self.audit_index.close()
        self.tracing.close()


def _photo_store(settings: Settings) -> PhotoStore:
    try:
        return PhotoStore.open(settings.photo_store, settings.s3_keys)
    except InvalidStore as error:
        raise InvalidSetting(f"CHECKLISTS_PHOTO_STORE: {error}") from None


def _archive_store(settings: Settings) -> ArchiveStore:
    try:
        return ArchiveStore.open(settings.archive_store, settings.s3_keys)
    except InvalidStore as error:
        raise InvalidSetting(f"CHECKLISTS_ARCHIVE_STORE: {error}") from None


def _sessions(settings: Settings, client: KubeClient, watcher: KubeClient) -> "ClusterSessions | RedisSessions":
    idle = settings.sign_in.session_idle
    if settings.sign_in.redis is None:
        return ClusterSessions(client, watcher, settings.namespace, idle=idle)
    from ..dashboard.sessions.redis import RedisSessions  # its package is optional

    return RedisSessions(settings.sign_in.redis, namespace=settings.namespace, sealing=settings.sealing, idle=idle)


def _shared_limits(settings: Settings, metrics: Metrics) -> "RedisRateLimiter | None":
    if settings.sign_in.redis is None:
        return None
    from ..http.redis_rate_limit import RedisRateLimiter  # its package is optional

    return RedisRateLimiter(settings.sign_in.redis, namespace=settings.namespace, metrics=metrics)


def _oidc(settings: Settings, clock: Clock) -> "Oidc | None":
    if settings.sign_in.oidc is None:
        return None
    # What knows the protocol takes a tenth of a second and some megabytes, and most installations have no need of it.
    from ..dashboard.oidc.flow import Oidc

    return Oidc(settings.sign_in.oidc, settings.base_url, clock)


async def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancels them until they have ended: one cancellation can be lost where what is waited for ends at that moment."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCELLED_AGAIN_AFTER_S)


def _log_task_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        logger.error("task.died", extra={"task": task.get_name()}, exc_info=task.exception())
