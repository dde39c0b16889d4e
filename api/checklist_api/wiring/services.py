"""Creates, starts and closes the objects of one API process."""

import asyncio
import contextlib
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.informer import Informer
from checklist_crds.kube.limit_ledger import LimitLedger
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.kube.seal_record import wait_for_records
from checklist_crds.photos.store import InvalidStore, PhotoStore
from checklist_crds.photos.urls import SignedUrls
from checklist_crds.platform.readiness import Check
from checklist_crds.platform.tracing import tracing_to
from checklist_crds.runs.seal import RunSeals
from checklist_crds.settings.rotation import Rotation
from checklist_crds.times import Clock, utc_now

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
from ..executor.access import LinkOwners
from ..exports.pdf.printer import PdfPrinter
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
from ..runs.change_readers import ChangeReaders
from ..runs.dispatch import Dispatcher
from ..runs.usage import UsageReader
from ..runs.waiting import RunWaits
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
"""CPU time limit of one photo."""
_CANCEL_RETRY_S = 1.0
_CLOSE_TIMEOUT_S = 10.0


class Services:
    """Owns all objects of the process. `routes` passes each route only what it uses."""

    def __init__(
        self,
        settings: Settings,
        connection: KubeConnection,
        *,
        clock: Clock = utc_now,
        limiter: RateLimiter | None = None,
    ) -> None:
        """Create the objects without starting them, in the serving event loop. Raises InvalidSetting."""
        self.settings = settings
        self.clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        # First, because they may raise, before anything is opened.
        self.photo_store, archive_store = _photo_store(settings), _archive_store(settings)
        self.metrics = Metrics()
        self.seals = RunSeals(settings.server_key)
        spaces = settings.watch_namespaces
        self.client = GuardedKubeClient(connection, self.metrics, namespaces=spaces, check=self.seals.check)
        # For lists and watches, which may take longer than requests.
        self.watcher = KubeClient(connection, namespaces=spaces, check=self.seals.check)
        self.tracing = tracing_to(settings.otlp_endpoint, service="checklist-dispatch-api")
        self.rotation = Rotation(settings.files, self.metrics.setting_is_stale)
        self._build_callers(limiter)
        self._build_reading(ArchiveParts(archive_store))
        self._build_writing()
        self._build_files()
        self._build_dashboard()

    def _build_callers(self, limiter: RateLimiter | None) -> None:
        """Authentication and rate limits. `shared_limits`: None if rate limits are local."""
        settings, client, watcher, clock = self.settings, self.client, self.watcher, self.clock
        self.organizations = OrganizationDirectory(client, watcher, settings.namespace)
        self.keys = KeyDirectory(client, watcher, settings.namespace)
        self.members = MemberDirectory(client, watcher)
        self.shared_limits = _shared_limits(settings, self.metrics) if limiter is None else None
        self._limiter: RateLimiter = limiter or self.shared_limits or LocalRateLimiter()
        self.gate = Gate(
            rates=settings.rates,
            trusted_proxies=settings.trusted_proxies,
            client=client,
            keys=self.keys,
            organizations=self.organizations,
            limiter=self._limiter,
            metrics=self.metrics,
            clock=clock,
        )
        self.audit_index = AuditIndex(watcher)
        self.audit = AuditTrail(client, self.audit_index, clock, trusted_proxies=settings.trusted_proxies)

    def _build_reading(self, parts: ArchiveParts) -> None:
        """Indexes and readers of runs, templates and deliveries."""
        client, watcher, clock = self.client, self.watcher, self.clock
        self.index = RunIndex(watcher)
        self.archive = ArchiveIndex(parts, self.index, self.metrics)
        self.archived = ArchivedRuns(self.archive, parts, self.index, self.metrics)
        self.deliveries = DeliveryIndex(watcher, clock)
        self.index.add_handler(self.deliveries.apply_run)
        self.replays = ReplayDirectory(client, watcher)
        self.templates = TemplateCatalogue(client, watcher)
        self.template_versions = TemplateVersions(client, self.settings.organization_limits.limits)
        self.revisions = RevisionStore(client)
        self.runs = RunStore(client, self.revisions, clock)
        self.run_access = RunAccess(
            client,
            runs=self.runs,
            index=self.index,
            organizations=self.organizations,
            archived=self.archived,
            clock=clock,
        )
        self.run_waits = RunWaits(self.run_access, self.index, self.metrics, clock)
        self.run_changes = ChangeReaders(self.index)
        self.link_owners = LinkOwners(self.settings.server_key, self.organizations, self.index, self.run_access)

    def _build_writing(self) -> None:
        settings, client, clock = self.settings, self.client, self.clock
        member_names = MemberNames(client)
        self.quota = QuotaLedger(client, clock)
        self.usage = UsageReader(client, self.quota, clock)
        self.limits = LimitLedger(
            client, clock, limits=settings.organization_limits.limits, installation_namespace=settings.namespace
        )
        self.idempotency = Idempotency(client, settings.server_key, self.limits, clock)
        self.template_writer = TemplateWriter(
            client=client,
            catalogue=self.templates,
            versions=self.template_versions,
            limits=self.limits,
            idempotency=self.idempotency,
            clock=clock,
        )
        self.dispatcher = Dispatcher(
            client=client,
            templates=self.templates,
            revisions=self.revisions,
            quota=self.quota,
            index=self.index,
            members=member_names,
            idempotency=self.idempotency,
            archived=self.archived,
            sealing=settings.sealing,
            seals=self.seals,
            metrics=self.metrics,
            clock=clock,
        )
        self.delivery_access = DeliveryAccess(
            client=client,
            index=self.deliveries,
            runs=self.index,
            archived=self.archived,
            replays=self.replays,
            idempotency=self.idempotency,
            members=member_names,
            clock=clock,
        )
        self.generator = Generator(settings.model, metrics=self.metrics, clock=clock)

    def _build_files(self) -> None:
        """Photos and exports."""
        settings = self.settings
        self.uploads = WorkingFolder(settings.upload_folder)
        workers = ImageWorkers(
            processes=settings.photo_workers,
            memory_mib=RECOMMENDED_MEMORY_MIB,
            seconds=_PHOTO_S,
            folder=self.uploads.path,
        )
        self.photo_intake = PhotoIntake(self.photo_store, workers, self.uploads, self.metrics)
        self.photo_urls = SignedUrls(settings.server_key, settings.base_url, self.clock)
        self.unused_photos = UnusedPhotos(self.photo_intake, self.run_access)
        self.export_slots = ExportSlots()
        self.pdf_printer = PdfPrinter(self.photo_store, self.uploads.path)

    def _build_dashboard(self) -> None:
        """The dashboard. `oidc`: None without a provider."""
        settings, client, watcher, clock = self.settings, self.client, self.watcher, self.clock
        self.sessions = _sessions(settings, client, watcher)
        passwords = Passwords()
        self.accounts = LocalAccounts(
            client,
            watcher,
            namespace=settings.namespace,
            sealing=settings.sealing,
            passwords=passwords,
            clock=clock,
        )
        self.dashboard = DashboardGate(
            server_keys=settings.server_key,
            base_url=settings.base_url,
            local_accounts=settings.sign_in.local_accounts,
            client=client,
            gate=self.gate,
            sessions=self.sessions,
            accounts=self.accounts,
            members=self.members,
            organizations=self.organizations,
            clock=clock,
        )
        self.sign_in = SignIn(
            settings=settings.sign_in,
            sealing=settings.sealing,
            trusted_proxies=settings.trusted_proxies,
            client=client,
            gate=self.dashboard,
            sessions=self.sessions,
            members=self.members,
            organizations=self.organizations,
            accounts=self.accounts,
            passwords=passwords,
            limiter=self._limiter,
            metrics=self.metrics,
            audit=PersonAudit(self.audit, self.dashboard),
            clock=clock,
        )
        self.oidc = _oidc(settings, clock)
        self.api_keys = ApiKeyAdmin(client, self.keys, self.limits, clock)
        self.member_admin = MemberAdmin(client, self.members, self.limits, settings.server_key, clock)
        self.live = LiveHub()
        feed(
            self.live,
            organizations=self.organizations,
            runs=self.index,
            deliveries=self.deliveries,
            replays=self.replays,
            templates=self.templates,
            keys=self.keys,
            members=self.members,
            clock=clock,
        )
        revalidate_on_change(
            self.live,
            members=self.members.informer,
            organizations=self.organizations.informer,
            accounts=self.accounts.informer,
            sessions=self.sessions.informer if isinstance(self.sessions, ClusterSessions) else None,
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
        """Return the readiness checks: everything is listed, and the cluster is up."""
        return [
            *(
                Check(name, None if informer.synced.is_set() else f"{name} are not read yet")
                for name, informer in self.informers.items()
            ),
            Check("kubernetes", self.client.down),
            Check("seals", None if self.seals.since is not None else "the records of sealed runs are not read yet"),
        ]

    def notes(self) -> list[str]:
        """Return warnings that do not affect readiness."""
        note = self.shared_limits.note if self.shared_limits is not None else None
        found = (note, self.archive.note)
        return [*(note for note in found if note is not None), *self.rotation.notes]

    async def start(self) -> None:
        if self.shared_limits is not None:
            self.shared_limits.start()
        await self.photo_intake.start()
        self.index.archive.store_in(self.uploads.path)
        for name, informer in self.informers.items():
            watching = self._watch_runs() if informer is self.index.informer else informer.run()
            self._tasks.append(asyncio.create_task(watching, name=f"watch {name}"))
        self._tasks.append(asyncio.create_task(self.archive.run(), name="refresh the archive"))
        self._tasks.append(asyncio.create_task(self.client.keep_probing(), name="probe the cluster"))
        self._tasks.append(asyncio.create_task(self.rotation.run(), name="read changed files of settings"))
        self._tasks.append(asyncio.create_task(self.generator.warm_up(), name="warm up the composer"))
        if not isinstance(self.sessions, ClusterSessions):
            polling = revalidate_by_polling(self.live, self.sessions.all_exist)
            self._tasks.append(asyncio.create_task(polling, name="poll the sessions of event streams"))
        for task in self._tasks:
            task.add_done_callback(_log_task_failure)

    async def _watch_runs(self) -> None:
        """Watch runs after the seal records are known, which decide whether a run is valid."""
        await wait_for_records(self.watcher, self.settings.namespace, self.seals)
        await self.index.informer.run()

    async def close(self) -> None:
        """Flush pending writes, then close everything."""
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
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
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
    # Imported only if needed: it takes 0.1 s and some megabytes.
    from ..dashboard.oidc.flow import Oidc

    return Oidc(settings.sign_in.oidc, settings.base_url, clock)


async def _end(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks repeatedly: a cancellation is lost if the awaited operation completes at the same time."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_RETRY_S)


def _log_task_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        logger.error("task.died", extra={"task": task.get_name()}, exc_info=task.exception())
