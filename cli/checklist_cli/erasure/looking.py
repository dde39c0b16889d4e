"""Searches all places in the order in which runs move: cluster, archive, then what belongs to the runs found."""

from dataclasses import dataclass

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient
from checklist_crds.photos.store import PhotoStore
from checklist_crds.times import Clock

from ..backup.parallel import for_each
from ..console.progress import Progress
from .archive_look import ArchiveLook
from .cluster_look import ClusterLook
from .journal import Journal
from .person import Person
from .sight import Organization, Sight

_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Places:
    """Where an installation stores data of people."""

    client: KubeClient
    archive: ArchiveStore
    photos: PhotoStore
    namespace: str
    """The namespace of the installation."""


class Looking:
    """Methods raise KubeError and StoreUnavailable."""

    def __init__(self, places: Places, organization: Organization, *, clock: Clock, progress: Progress) -> None:
        self._places = places
        self._organization = organization
        self._clock = clock
        self._progress = progress
        self._cluster = ClusterLook(places.client, places.namespace, progress)

    async def look(self, person: Person, journal: Journal, *, with_account: bool) -> Sight:
        """Search for the person's data. Runs move from the cluster to the archive only, so the archive comes second.

        `journal`: runs known from earlier attempts.
        """
        organization = await self._cluster.organization(self._organization.name)  # a hold counts at once
        sight = Sight(organization)
        known = journal.known
        await self._cluster.look(sight, person, known)
        archive = ArchiveLook(self._places.archive, person, clock=self._clock, progress=self._progress)
        await archive.run(sight, known, journal)
        known = {run: uids for run, uids in known.items() if run not in sight.strangers}
        await self._cluster.look_at_deliveries(sight, person, known)
        await self._photos(sight, sorted(sight.targets | known.keys() | person.runs))
        if with_account:
            identity = await self._cluster.identity(organization, person, ())
            # The member last: the others are found through it.
            sight.account = [*([] if identity.elsewhere else identity.accounts), *identity.members]
        return sight

    async def _photos(self, sight: Sight, run_ids: list[str]) -> None:
        async def one(run_id: str) -> None:
            found = await self._places.photos.objects_of_run(self._organization.id, run_id)
            sight.looked_at["photo_folders"] += 1
            if found:
                sight.photos[run_id] = {stored.key: stored.size for stored in found}

        await for_each(run_ids, one, parallel=_PARALLEL)
