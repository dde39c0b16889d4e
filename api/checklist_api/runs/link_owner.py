"""Finds the organization of a link, whose token was made for one run of one organization.

A run of another organization may bear the same id (a namespace's editors choose the names of what they apply), and its
link has another token. Links of versions before 0.1.0 were made for the id alone: they open a run of then, of which
there was one, and no run that was made since.
"""

from checklist_crds.errors import RunNotFound
from checklist_crds.ids import object_id
from checklist_crds.secrets.sealing import ServerKeys, is_executor_token, is_unbound_token

from ..index.runs import RunIndex
from ..organizations.directory import Organization, OrganizationDirectory
from .access import RunAccess


class LinkOwners:
    """Finds the organization of a link."""

    def __init__(
        self, keys: ServerKeys, organizations: OrganizationDirectory, index: RunIndex, runs: RunAccess
    ) -> None:
        self._keys = keys
        self._organizations = organizations
        self._index = index
        self._runs = runs

    async def of(self, run_id: str, token: str) -> Organization | None:
        """None when the token opens no run with that id. Raises RunNotFound, KubeError and ServiceUnavailable.

        The run itself need not be there: who has its link learns that it is gone.
        """
        owners = set(self._index.owners_of(run_id).values())
        others = [organization.name for organization in self._organizations.all() if organization.name not in owners]
        # The organization itself may not be read yet, or only now: its id is made of its name.
        for name in (*owners, *others):
            if is_executor_token(self._keys, object_id("org", name), run_id, token):
                return await self._organizations.get(name)
        if is_unbound_token(self._keys, run_id, token):
            return await self._of_unbound(run_id)
        return None if owners else await self._of_unknown(run_id, token)

    async def _of_unbound(self, run_id: str) -> Organization | None:
        run = await self._runs.of_anybody(run_id)
        return None if run.admitted_as.bound else await self._organizations.get(run.admitted_as.organization)

    async def _of_unknown(self, run_id: str, token: str) -> Organization | None:
        """Another process may have made the organization and the run just now."""
        try:
            run = await self._runs.of_anybody(run_id)
        except RunNotFound:
            return None
        organization = await self._organizations.get(run.admitted_as.organization)
        is_its = organization is not None and is_executor_token(self._keys, organization.id, run_id, token)
        return organization if is_its else None
