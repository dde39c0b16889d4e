"""Reads single runs from the archive."""

import asyncio
import logging
from collections import OrderedDict
from typing import Final

from checklist_crds.archive import Damaged, Record
from checklist_crds.errors import ServiceUnavailable
from checklist_crds.ids import is_id, object_id
from checklist_crds.platform.object_store import StoreUnavailable
from checklist_crds.resources.template_definition import Definition

from ..index.archive_table import KnownPart
from ..index.run_rows import UNREADABLE
from ..index.runs import RunIndex
from ..metrics import ArchiveFailure, Metrics
from ..organizations.directory import Organization
from .incomplete import Incomplete
from .index import ArchiveIndex
from .parts import ArchiveParts
from .run import ArchivedRun

logger = logging.getLogger(__name__)

_FIRST_REFRESH_TIMEOUT_S: Final = 1.0
_UNREADABLE: Final = "Archived runs are temporarily unavailable. Try again."
_LOADING: Final = "The archive is still loading after a restart. Try again."
_DAMAGED: Final = "The archived run is damaged. The operator of the service has been notified."
_TIMEOUT_S: Final = 10.0
_RETRY_AFTER_S: Final = 5
_DEFINITIONS: Final = 64
_DAMAGED_RETRY_AFTER_S: Final = 60


class ArchivedRuns:
    """All methods raise ServiceUnavailable while the archive is unavailable or the run's part cannot be read."""

    def __init__(self, index: ArchiveIndex, parts: ArchiveParts, runs: RunIndex, metrics: Metrics) -> None:
        self._index = index
        self._parts = parts
        self._runs = runs
        self._table = runs.archive
        self._metrics = metrics
        self._definitions: OrderedDict[tuple[str, str, str], Definition] = OrderedDict()

    def has(self, run_id: str, organization: Organization | None = None) -> bool:
        """Whether the run (of that organization) is known to be archived."""
        return bool(self._table.parts_of(run_id, None if organization is None else organization.id))

    def incomplete(self, organization: Organization) -> Incomplete | None:
        """Return why the organization's lists may lack archived runs."""
        return self._index.incomplete(organization.id)

    async def find(self, run_id: str, organization: Organization | None = None) -> ArchivedRun | None:
        """Return the newest version of the archived run (of that organization)."""
        if not is_id("r", run_id):
            return None
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await self._find(run_id, organization)
        except TimeoutError:
            logger.warning("archive.run_not_read", extra={"run_id": run_id, "reason": "timeout"})
            raise ServiceUnavailable(_UNREADABLE, retry_after_s=_RETRY_AFTER_S) from None

    async def _find(self, run_id: str, organization: Organization | None) -> ArchivedRun | None:
        owner = None if organization is None else organization.id
        parts = self._table.parts_of(run_id, owner)
        if not parts and await self._refresh_for(run_id, organization):
            parts = self._table.parts_of(run_id, owner)
        if not parts:
            return None
        run = await self._read(run_id, parts[0])
        if run is None or organization is None:
            return run
        is_own = run.admitted_as.organization == organization.name and organization.has(run.namespace)
        return run if is_own else None

    def definition(self, run: ArchivedRun) -> Definition | None:
        """Return the run's definition, cached by revision; None if it was deleted before the run was archived."""
        revision = run.record.revision
        if revision is None:
            return None
        key = (run.namespace, str(revision["metadata"]["name"]), str(revision["metadata"].get("uid")))
        known = self._definitions.pop(key, None) or run.record.definition()
        if known is not None:
            self._definitions[key] = known
        while len(self._definitions) > _DEFINITIONS:
            self._definitions.popitem(last=False)
        return known

    async def of_event(self, event_id: str, organization: Organization) -> ArchivedRun | None:
        """Return the archived run of an event."""
        run_id = self._table.run_of_event(event_id)
        if run_id is not None:
            return await self.find(run_id, organization)
        if self._index.incomplete(organization.id) is Incomplete.LOADING:
            raise ServiceUnavailable(_LOADING, retry_after_s=_RETRY_AFTER_S)
        return None

    async def _refresh_for(self, run_id: str, organization: Organization | None) -> bool:
        """Refresh the index for a missing run if that can help; returns whether it was refreshed.

        A run is archived before its object is deleted, so a run in the live index, or recently removed from it, is
        always worth a refresh. Any other run was found by an earlier refresh if it exists; a further one is made only
        if there was none within the last second, which limits the cost of unknown ids.
        """
        if not await self._index.wait_for_first_refresh(_FIRST_REFRESH_TIMEOUT_S):
            raise ServiceUnavailable(_LOADING, retry_after_s=_RETRY_AFTER_S)
        owners = set(self._runs.owners_of(run_id).values())
        if organization is not None:
            owners &= {organization.name}
        if owners:
            try:
                for owner in owners:
                    await self._index.refresh(object_id("org", owner))
            except StoreUnavailable:
                raise ServiceUnavailable(_UNREADABLE, retry_after_s=_RETRY_AFTER_S) from None
            return True
        if organization is None or self._index.refreshed_recently(organization.id):
            return False
        try:
            await self._index.refresh(organization.id)
        except StoreUnavailable:
            return False  # not in the live index, and earlier archives are known
        return True

    async def _read(self, run_id: str, part: KnownPart) -> ArchivedRun | None:
        try:
            try:
                record = await self._parts.record(part, run_id)
            except Damaged as error:
                record = await self._reread(run_id, part, error)
            return None if record is None else ArchivedRun.of(record)
        except StoreUnavailable as error:
            self._metrics.count_archive_failure(ArchiveFailure.STORE)
            logger.warning("archive.run_not_read", extra={"run_id": run_id, "reason": str(error)})
            raise ServiceUnavailable(_UNREADABLE, retry_after_s=_RETRY_AFTER_S) from None
        except (Damaged, *UNREADABLE) as error:
            about = Damaged(f"{part.key}: run {run_id}: {_reason(error)}")
            self._index.report_damage(part, about)
            raise ServiceUnavailable(_DAMAGED, retry_after_s=_DAMAGED_RETRY_AFTER_S) from None

    async def _reread(self, run_id: str, part: KnownPart, error: Damaged) -> Record | None:
        """Refresh and read again: an erasure may have replaced the part, which then is not damaged."""
        await self._index.refresh(part.organization)
        found = self._table.parts_of(run_id, part.organization)
        if found and (found[0].key, found[0].tag) == (part.key, part.tag):
            raise error
        return await self._parts.record(found[0], run_id) if found else None


def _reason(error: Exception) -> str:
    """Describe an error without content of the run."""
    return str(error) if isinstance(error, Damaged) else type(error).__name__
