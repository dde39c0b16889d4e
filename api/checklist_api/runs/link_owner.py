"""Finds the organization of a run's link by its token.

Runs of several organizations may have the same id (names of applied objects are free), but their tokens differ. Tokens
of versions before 0.1.0 are bound to the run id only and open only runs of that time.
"""

from checklist_crds.errors import RunNotFound
from checklist_crds.ids import object_id
from checklist_crds.secrets.sealing import ServerKeys, is_executor_token, is_unbound_token

from ..index.runs import RunIndex
from ..organizations.directory import Organization, OrganizationDirectory
from .access import RunAccess


class LinkOwners:
    def __init__(
        self, keys: ServerKeys, organizations: OrganizationDirectory, index: RunIndex, runs: RunAccess
    ) -> None:
        self._keys = keys
        self._organizations = organizations
        self._index = index
        self._runs = runs

    async def of(self, run_id: str, token: str) -> Organization | None:
        """Return the organization; None for an invalid token. Raises RunNotFound, KubeError and ServiceUnavailable.

        Works for a deleted run, too, so that the bearer of its link learns that it is gone.
        """
        owners = set(self._index.owners_of(run_id).values())
        others = [organization.name for organization in self._organizations.all() if organization.name not in owners]
        # Organizations that are not cached yet are checked by their id, which is derived from the name.
        for name in (*owners, *others):
            if is_executor_token(self._keys, object_id("org", name), run_id, token):
                return await self._organizations.get(name)
        if is_unbound_token(self._keys, run_id, token):
            return await self._of_unbound(run_id)
        return None if owners else await self._of_unknown(run_id, token)

    async def _of_unbound(self, run_id: str) -> Organization | None:
        run = await self._runs.by_id(run_id)
        return None if run.admitted_as.bound else await self._organizations.get(run.admitted_as.organization)

    async def _of_unknown(self, run_id: str, token: str) -> Organization | None:
        """Look the run up, in case another process has just created it or its organization."""
        try:
            run = await self._runs.by_id(run_id)
        except RunNotFound:
            return None
        organization = await self._organizations.get(run.admitted_as.organization)
        is_its = organization is not None and is_executor_token(self._keys, organization.id, run_id, token)
        return organization if is_its else None
