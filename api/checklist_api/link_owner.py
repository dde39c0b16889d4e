"""Whose run a link opens: its token was made for one run of one organization.

A run of another organization may bear the same id (a namespace's editors choose the names of what they apply), and its
link has another token. Links of versions before 0.2 were made for the id alone: they open a run of that time, of which
there was one, and no run that was made since.
"""

from collections.abc import Iterator

from checklist_crds.errors import RunNotFound
from checklist_crds.sealing import ServerKeys, is_executor_token, is_unbound_token

from .organizations import Organization, OrganizationDirectory
from .run_access import RunAccess
from .run_index import RunIndex


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
        for organization in self._likely_first(owners):
            if is_executor_token(self._keys, organization.id, run_id, token):
                return await self._organizations.get(organization.name)
        is_unbound = is_unbound_token(self._keys, run_id, token)
        if owners and not is_unbound:
            return None
        try:
            admitted = (await self._runs.of_anybody(run_id)).admitted_as
        except RunNotFound:
            if is_unbound:
                raise
            return None
        owner = await self._organizations.get(admitted.organization)
        if owner is None or is_unbound:
            return None if admitted.bound else owner
        # Another process may have made the organization and the run just now.
        return owner if is_executor_token(self._keys, owner.id, run_id, token) else None

    def _likely_first(self, owners: set[str]) -> Iterator[Organization]:
        yield from (one for one in self._organizations.all() if one.name in owners)
        yield from (one for one in list(self._organizations.all()) if one.name not in owners)
