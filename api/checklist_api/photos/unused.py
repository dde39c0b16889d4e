"""Deletes stored photos that no run refers to: replaced drawings and refused uploads.

The operator deletes such orphans only when they are a day old; until then, whoever has a link could fill the store.
Photos of steps that are taken back are left to it, since events that were sent refer to them.
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
    """Never raises: what is left is collected by the operator."""

    def __init__(self, intake: PhotoIntake, runs: RunAccess) -> None:
        self._intake = intake
        self._runs = runs

    async def discard_replaced(self, change: Change) -> None:
        """The drawing that a change of the run has replaced or taken back."""
        before = change.decision.before.drawing
        if before is not None and before.key not in keys_in_use(change.run.status):
            await self._intake.discard(change.run.name, [before.key])

    async def discard_refused(self, run_id: str, organization: Organization, photo: PhotoRef) -> None:
        """What was stored for an upload that was refused, or was there already.

        The same operation may have been accepted meanwhile, with the same bytes in the same place, so the run is read
        again first.
        """
        try:
            run = await self._runs.of_organization(run_id, organization)
        except (ServiceError, KubeError) as error:
            logger.info("photo.not_discarded", extra={"run_id": run_id, "reason": str(error)})
            return
        if photo.key not in keys_in_use(run.status):
            await self._intake.discard(run_id, [photo.key])
