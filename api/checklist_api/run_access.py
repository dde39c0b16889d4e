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
from checklist_crds.template_types import Definition

from .organizations import Organization, OrganizationDirectory
from .recent_absences import RecentAbsences
from .recent_runs import RecentRuns
from .run_index import RunIndex
from .run_turns import RunTurns

logger = logging.getLogger(__name__)


class RunAccess:
    """Reads and changes single runs, always in the cluster itself. All methods raise RunNotFound and KubeError."""

    def __init__(
        self, client: KubeClient, runs: RunStore, index: RunIndex, organizations: OrganizationDirectory
    ) -> None:
        self._client = client
        self._absences = RecentAbsences()
        self._recent = RecentRuns()
        self._turns = RunTurns()
        index.also_tell(self._recent.learn)
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
        if not await self._is_anybodys(run):
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
        self._tell(change)
        return change

    async def change_for_anybody(self, run_id: str, command: Command) -> Change:
        """Apply `command` to the run, for whoever may do that by its id (executor). Raises what `decide` raises.

        Changes of one run wait for each other here. A run that this process had in hands a moment ago is changed
        without being read again.
        """
        async with self._turns.of(run_id):
            return await self._change_for_anybody(run_id, command)

    async def definition(self, run: Run) -> Definition:
        """The snapshot of an admitted run."""
        try:
            return await self._runs.definition(run)
        except KubeNotFound:
            raise RunNotFound() from None

    async def _change_for_anybody(self, run_id: str, command: Command) -> Change:
        namespace = self._index.namespace_of(run_id)
        remembered = self._recent.get((namespace, run_id)) if namespace is not None else None
        if remembered is not None and await self._is_anybodys(remembered):
            try:
                change = await self._runs.change_remembered(remembered, command)
            except KubeNotFound:
                raise RunNotFound() from None
            if change is not None:
                self._tell(change)
                return change
        return await self.change(await self.of_anybody(run_id), command)

    def _tell(self, change: Change) -> None:
        if change.body is not None:
            self._index.observe(change.body)
        self._recent.put(change.run)
        before, after = change.decision.before.phase, change.decision.after.phase
        if before is not after:
            logger.info("run.phase_changed", extra={"run_id": change.run.name, "from": before.value, "to": after.value})

    async def _is_anybodys(self, run: Run) -> bool:
        """Whether the run is admitted, and of an organization that exists and may have it where it is."""
        organization = await self._organizations.get(run.resolved.organization) if run.resolved else None
        return organization is not None and organization.has(run.namespace)

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
