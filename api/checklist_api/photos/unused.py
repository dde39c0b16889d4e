"""Deletes unreferenced photos at once: replaced drawings and refused uploads.

The operator collects orphans after a day only, which would let the bearer of a link fill the store. Removed photos of
steps are left to it, since sent events refer to them.
"""

import logging

from checklist_crds.errors import ServiceError
from checklist_crds.kube.errors import KubeError
from checklist_crds.kube.run_store import Change
from checklist_crds.resources.run import PhotoRef
from checklist_crds.runs.photos import keys_in_use

from ..organizations.directory import Organization
from ..runs.access import RunAccess
from .intake import PhotoIntake

logger = logging.getLogger(__name__)


class UnusedPhotos:
    """Never raises: the operator collects what remains."""

    def __init__(self, intake: PhotoIntake, runs: RunAccess) -> None:
        self._intake = intake
        self._runs = runs

    async def discard_replaced(self, change: Change) -> None:
        """Delete a drawing that a change has replaced or removed."""
        before = change.decision.before.drawing
        if before is not None and before.key not in keys_in_use(change.run.status):
            await self._intake.discard(change.run.id, [before.key])

    async def discard_refused(self, run_id: str, organization: Organization, photo: PhotoRef) -> None:
        """Delete the photo of a refused or repeated upload.

        The run is read again, because the same operation may have been accepted concurrently with the same key.
        """
        try:
            run = await self._runs.of_organization(run_id, organization)
        except (ServiceError, KubeError) as error:
            logger.info("photo.not_discarded", extra={"run_id": run_id, "reason": str(error)})
            return
        if photo.key not in keys_in_use(run.status):
            await self._intake.discard(run_id, [photo.key])
