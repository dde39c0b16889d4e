"""Runs by their public id: found in the right namespace, belonging to somebody, admitted; else not found at all."""

import logging
from collections.abc import Sequence

from checklist_crds.errors import RunNotFound
from checklist_crds.ids import is_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import RUN
from checklist_crds.kube.run_store import Change, RunStore
from checklist_crds.run_lifecycle import Command
from checklist_crds.run_types import Run

from .organizations import Organization, OrganizationDirectory
from .recent_absences import RecentAbsences
from .run_index import RunIndex

logger = logging.getLogger(__name__)


class RunAccess:
    """Reads and changes single runs, always in the cluster itself. All methods raise RunNotFound and KubeError."""

    def __init__(
        self, client: KubeClient, runs: RunStore, index: RunIndex, organizations: OrganizationDirectory
    ) -> None:
        self._client = client
        self._absences = RecentAbsences()
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
        run = await self._read(run_id, await self._namespaces_of(run_id))
        organization = await self._organizations.get(run.resolved.organization) if run.resolved else None
        if organization is None or not organization.has(run.namespace):
            raise RunNotFound()
        return run

    async def change(self, run: Run, command: Command) -> Change:
        """Apply `command` to a run that one of the other methods gave just now. Raises what `decide` raises.

        The list shows the change at once.
        """
        try:
            change = await self._runs.change(run.namespace, run.name, command, known=run)
        except KubeNotFound:
            raise RunNotFound() from None
        if change.body is not None:
            self._index.observe(change.body)
        before, after = change.decision.before.phase, change.decision.after.phase
        if before is not after:
            logger.info("run.phase_changed", extra={"run_id": run.name, "from": before.value, "to": after.value})
        return change

    async def _namespaces_of(self, run_id: str) -> Sequence[str]:
        """Where to look for a run that is known by its id alone: one place, or none."""
        if not is_id("r", run_id) or run_id in self._absences:
            return ()
        known = self._index.namespace_of(run_id)
        if known is not None:
            return (known,)
        # Another process may have made it just now. One call finds it, however many namespaces there are.
        first, *others = self._organizations.namespaces()
        if not others:
            return (first,)
        found, _ = await self._client.list_all(RUN, field_selector=f"metadata.name={run_id}")
        if not found:
            self._absences.add(run_id)
        return tuple(body["metadata"]["namespace"] for body in found)

    async def _read(self, run_id: str, namespaces: Sequence[str]) -> Run:
        if not is_id("r", run_id):
            raise RunNotFound()
        for namespace in namespaces:
            try:
                return await self._runs.get(namespace, run_id)
            except KubeNotFound:
                continue
        raise RunNotFound()
