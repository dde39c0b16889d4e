"""What the routes of one API process work with, made once and handed to them: no globals."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.informer import Informer
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.photo_store import InvalidStore, PhotoStore
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.times import Clock, utc_now

from .auth import Gate
from .dispatch import Dispatcher
from .idempotency import Idempotency
from .key_directory import KeyDirectory
from .kube_guard import GuardedKubeClient
from .member_names import MemberNames
from .metrics import Metrics
from .organizations import OrganizationDirectory
from .photo_intake import PhotoIntake, upload_folder
from .photos.limits import RECOMMENDED_MEMORY_MIB
from .photos.processing import ImageWorkers
from .rate_limit import LocalRateLimiter, RateLimiter
from .run_access import RunAccess
from .run_index import RunIndex
from .settings import InvalidSetting, Settings
from .template_catalogue import TemplateCatalogue
from .template_writes import TemplateWriter

logger = logging.getLogger(__name__)

_PHOTO_S = 10.0
"""Processor time that one photo may take."""


@dataclass(slots=True)
class Services:
    """Everything that a route may need. `start` and `close` belong to the application."""

    settings: Settings
    clock: Clock
    metrics: Metrics
    client: GuardedKubeClient
    watcher: KubeClient
    """For lists and watches: they may take longer than a request can wait."""
    organizations: OrganizationDirectory
    keys: KeyDirectory
    index: RunIndex
    revisions: RevisionStore
    runs: RunStore
    run_access: RunAccess
    quota: QuotaLedger
    gate: Gate
    idempotency: Idempotency
    templates: TemplateCatalogue
    template_writer: TemplateWriter
    dispatcher: Dispatcher
    photo_store: PhotoStore
    photo_urls: SignedUrls
    photo_intake: PhotoIntake
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
        photo_store = _photo_store(settings)  # first, since it may refuse, and nothing is open yet
        metrics = Metrics()
        client = GuardedKubeClient(connection, metrics)
        watcher = KubeClient(connection)
        organizations = OrganizationDirectory(client, watcher, settings.namespace)
        keys = KeyDirectory(client, watcher, settings.namespace)
        index = RunIndex(watcher)
        revisions = RevisionStore(client)
        runs = RunStore(client, revisions, clock)
        quota = QuotaLedger(client, clock)
        templates = TemplateCatalogue(client, watcher)
        idempotency = Idempotency(client, settings.server_key, clock)
        uploads = upload_folder(settings.upload_folder)
        workers = ImageWorkers(
            processes=settings.photo_workers, memory_mib=RECOMMENDED_MEMORY_MIB, seconds=_PHOTO_S, folder=uploads
        )
        return cls(
            settings=settings,
            clock=clock,
            metrics=metrics,
            client=client,
            watcher=watcher,
            organizations=organizations,
            keys=keys,
            index=index,
            revisions=revisions,
            runs=runs,
            run_access=RunAccess(client, runs, index, organizations),
            quota=quota,
            gate=Gate(
                settings=settings,
                client=client,
                keys=keys,
                organizations=organizations,
                limiter=limiter or LocalRateLimiter(),
                metrics=metrics,
                clock=clock,
            ),
            idempotency=idempotency,
            templates=templates,
            template_writer=TemplateWriter(client, templates, idempotency, clock),
            dispatcher=Dispatcher(
                client=client,
                templates=templates,
                revisions=revisions,
                quota=quota,
                index=index,
                members=MemberNames(client),
                idempotency=idempotency,
                sealing=settings.sealing,
                metrics=metrics,
                clock=clock,
            ),
            photo_store=photo_store,
            photo_urls=SignedUrls(settings.server_key, settings.base_url, clock),
            photo_intake=PhotoIntake(photo_store, workers, uploads),
        )

    @property
    def informers(self) -> dict[str, Informer]:
        return {
            "organizations": self.organizations.informer,
            "apikeys": self.keys.informer,
            "templates": self.templates.informer,
            "runs": self.index.informer,
        }

    def unready_because(self) -> list[str]:
        """Why the process should get no requests yet, or any more; empty when it should."""
        reasons = [
            f"{name} are not read yet" for name, informer in self.informers.items() if not informer.synced.is_set()
        ]
        if self.client.down is not None:
            reasons.append(self.client.down)
        return reasons

    async def start(self) -> None:
        await self.photo_intake.start()
        for name, informer in self.informers.items():
            self._tasks.append(asyncio.create_task(informer.run(), name=f"watch {name}"))
        self._tasks.append(asyncio.create_task(self.client.watch_over(), name="watch over the cluster"))
        for task in self._tasks:
            task.add_done_callback(_tell_of_death)

    async def close(self) -> None:
        """Write what is still to be written, then let go of everything."""
        await self.photo_intake.close()
        await self.quota.close()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        self._tasks.clear()
        await self.client.close()
        await self.watcher.close()
        self.index.close()


def _photo_store(settings: Settings) -> PhotoStore:
    try:
        return PhotoStore.open(settings.photo_store)
    except InvalidStore as error:
        raise InvalidSetting(f"CHECKLISTS_PHOTO_STORE: {error}") from None


def _tell_of_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        logger.error("task.died", extra={"task": task.get_name()}, exc_info=task.exception())
