"""Runs by their public id: found in the right namespace, belonging to somebody, admitted; else not found at all."""

from collections.abc import Sequence

from checklist_crds.errors import RunNotFound
from checklist_crds.ids import is_id
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_store import Change, RunStore
from checklist_crds.run_lifecycle import Command
from checklist_crds.run_types import Run

from .organizations import Organization, OrganizationDirectory
from .run_index import RunIndex


class RunAccess:
    """Reads and changes single runs, always in the cluster itself. All methods raise RunNotFound and KubeError."""

    def __init__(self, runs: RunStore, index: RunIndex, organizations: OrganizationDirectory) -> None:
        self._runs = runs
        self._index = index
        self._organizations = organizations

    async def of_organization(self, run_id: str, organization: Organization) -> Run:
        """The run as it is now, if it belongs to `organization`."""
        run = await self._read(run_id, organization.namespaces)
        if run.resolved is None or run.resolved.organization != organization.name:
            raise RunNotFound()
        return run

    async def of_anybody(self, run_id: str) -> Run:
        """The run as it is now, for whoever knows its id: preview and executor (once its token is checked)."""
        known = self._index.namespace_of(run_id) if is_id("r", run_id) else None
        run = await self._read(run_id, [known] if known else self._organizations.namespaces())
        organization = await self._organizations.get(run.resolved.organization) if run.resolved else None
        if organization is None or not organization.has(run.namespace):
            raise RunNotFound()
        return run

    async def change(self, run: Run, command: Command) -> Change:
        """Apply `command` to a run that one of the other methods gave. Raises what `decide` raises.

        The list shows the change at once.
        """
        try:
            change = await self._runs.change(run.namespace, run.name, command)
        except KubeNotFound:
            raise RunNotFound() from None
        self._index.observe(change.body)
        return change

    async def _read(self, run_id: str, namespaces: Sequence[str]) -> Run:
        if not is_id("r", run_id):
            raise RunNotFound()
        for namespace in namespaces:
            try:
                return await self._runs.get(namespace, run_id)
            except KubeNotFound:
                continue
        raise RunNotFound()
