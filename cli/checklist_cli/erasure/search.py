"""Searches all places in the order in which runs move: cluster, archive, then what belongs to the runs found."""

from dataclasses import dataclass

from checklist_crds.archive import ArchiveStore
from checklist_crds.kube.client import KubeClient
from checklist_crds.photos.store import PhotoStore
from checklist_crds.times import Clock

from ..backup.parallel import for_each
from ..console.progress import Progress
from .archive_search import ArchiveSearch
from .cluster_search import ClusterSearch
from .journal import Journal
from .person import Person
from .search_result import Organization, SearchResult

_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Places:
    """Where an installation stores data of people."""

    client: KubeClient
    archive: ArchiveStore
    photos: PhotoStore
    namespace: str
    """The namespace of the installation."""


class Search:
    """Methods raise KubeError and StoreUnavailable."""

    def __init__(self, places: Places, organization: Organization, *, clock: Clock, progress: Progress) -> None:
        self._places = places
        self._organization = organization
        self._clock = clock
        self._progress = progress
        self._cluster = ClusterSearch(places.client, places.namespace, progress)

    async def search(self, person: Person, journal: Journal, *, with_account: bool) -> SearchResult:
        """Search for the person's data. Runs move from the cluster to the archive only, so the archive comes second.

        `journal`: runs known from earlier attempts.
        """
        organization = await self._cluster.organization(self._organization.name)  # a hold counts at once
        result = SearchResult(organization)
        known = journal.known
        await self._cluster.search(result, person, known)
        archive = ArchiveSearch(self._places.archive, person, clock=self._clock, progress=self._progress)
        await archive.run(result, known, journal)
        known = {run: uids for run, uids in known.items() if run not in result.strangers}
        await self._cluster.search_deliveries(result, person, known)
        await self._photos(result, sorted(result.targets | known.keys() | person.runs))
        if with_account:
            identity = await self._cluster.identity(organization, person, ())
            # The member last: the others are found through it.
            result.account = [*([] if identity.elsewhere else identity.accounts), *identity.members]
        return result

    async def _photos(self, result: SearchResult, run_ids: list[str]) -> None:
        async def one(run_id: str) -> None:
            found = await self._places.photos.objects_of_run(self._organization.id, run_id)
            result.looked_at["photo_folders"] += 1
            if found:
                result.photos[run_id] = {stored.key: stored.size for stored in found}

        await for_each(run_ids, one, parallel=_PARALLEL)
