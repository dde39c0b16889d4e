"""Finds runs by their public id, in the right namespace and admitted, and changes them.

What the cluster has no longer is looked for in the archive: such a run reads as it did, and takes no more changes.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pydantic import ValidationError

from checklist_crds.errors import RunClosed, RunNotAdmitted, RunNotFound
from checklist_crds.ids import is_id
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_store import BatchChange, Change, RunStore
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.kinds import RUN, TEMPLATE
from checklist_crds.resources.run import Run
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.batch import decide_in_turn
from checklist_crds.runs.lifecycle import Command
from checklist_crds.times import Clock

from ..archive.reading import ArchivedRuns
from ..archive.run import ArchivedRun
from ..cluster.guard import GuardedKubeClient
from ..cluster.keyed_locks import KeyedLocks
from ..index.runs import RunIndex
from ..organizations.directory import Organization, OrganizationDirectory
from .recent import RecentRuns

logger = logging.getLogger(__name__)

Who = Callable[[Run], Awaitable[str | None]]
"""Returns the id of the member who acts on a run; None where no sign-in is required. Raises refusals."""


class RunAccess:
    """Reads and changes single runs, always in the cluster itself, or else in the archive. All methods raise
    RunNotFound, KubeError and ServiceUnavailable (the archive, or a restore that is under way)."""

    def __init__(
        self,
        client: GuardedKubeClient,
        *,
        runs: RunStore,
        index: RunIndex,
        organizations: OrganizationDirectory,
        archived: ArchivedRuns,
        clock: Clock,
    ) -> None:
        self._client = client
        self._archived = archived
        self._clock = clock
        self._absences = expiring_keys()
        self._recent = RecentRuns()
        self._locks = KeyedLocks()
        index.also_tell(self._recent.learn)
        self._runs = runs
        self._index = index
        self._organizations = organizations

    async def of_organization(self, run_id: str, organization: Organization) -> Run:
        """The run as it is now, if it belongs to `organization`."""
        run = None
        if not self._is_only_archived(run_id, organization):
            run = await self._read(run_id, organization.namespaces, lambda run: _is_of(run, organization))
        if run is None:
            # A foreign one takes the same way as one that is nowhere.
            run = await self._archived.find(run_id, organization)
        if run is None:
            raise RunNotFound()
        return run

    async def require_none_waits_for_admission(self, run_id: str, organization: Organization) -> None:
        """Raises RunNotAdmitted for a run of kubectl that is to belong to `organization` and is not admitted."""
        run = None
        if is_id("r", run_id):
            run = await self._read(run_id, organization.namespaces, lambda run: run.resolved is None)
        if run is None or await self._organization_named_by(run) != organization.name:
            return
        verdict = next((each for each in run.status.conditions if each.type == "Admitted"), None)
        if verdict is None:
            raise RunNotAdmitted()
        raise RunNotAdmitted(f"The run is not admitted ({verdict.reason}): {verdict.message}")

    async def _organization_named_by(self, run: Run) -> str | None:
        """What the operator goes by: the run's own word, else that of its template."""
        spec = run.spec
        if spec.organization_ref is not None:
            return spec.organization_ref.name
        template = spec.template_ref.name if spec.template_ref else spec.template_id
        try:
            return TemplateMeta.of(await self._client.get(TEMPLATE, template or "-", run.namespace)).organization
        except (KubeNotFound, ValueError, KeyError, TypeError):
            return None

    async def of_anybody(self, run_id: str) -> Run:
        """The run as it is now, for whoever knows its id: the preview. Of several with one id, the oldest."""
        if not self._is_only_archived(run_id):
            for namespace in await self._namespaces_of(run_id):
                run = await self._read(run_id, (namespace,))
                if run is not None and await self._is_anybodys(run):
                    return run
        archived = await self._archived.find(run_id)
        if archived is None or not await self._is_anybodys(archived):
            self._organizations.require_all_whole()
            raise RunNotFound()
        return archived

    async def change(self, run: Run, command: Command) -> Change:
        """Apply `command` to a run that one of the other methods gave just now. Raises what `decide` raises.

        The list shows the change at once.
        """
        return (await self._change(run, [command])).single()

    async def change_by_link(self, run_id: str, organization: Organization, command: Command, who: Who) -> Change:
        """As `change_in_turn_by_link` with one command. Raises what `decide` and `who` raise."""
        return (await self.change_in_turn_by_link(run_id, organization, [command], who)).single()

    async def change_in_turn_by_link(
        self, run_id: str, organization: Organization, commands: Sequence[Command], who: Who
    ) -> BatchChange:
        """Apply `commands` (at least one) in order to the run of `organization`, for the bearer of its link. Raises
        what `who` raises.

        Changes of one run wait for each other here. A run that this process had in hands a moment ago is changed
        without being read again.
        """
        async with self._client.turn(self._locks.of(run_id)):
            remembered = (self._recent.get((namespace, run_id)) for namespace in organization.namespaces)
            run = next((run for run in remembered if run is not None and _is_of(run, organization)), None)
            if run is not None:
                batch = None
                with contextlib.suppress(KubeNotFound):  # it is in the archive, or gone
                    batch = await self._runs.change_remembered(run, await _by(commands, who, run))
                if batch is not None:
                    self._tell(batch.change)
                    return batch
            run = await self.of_organization(run_id, organization)
            return await self._change(run, await _by(commands, who, run))

    async def definition(self, run: Run) -> Definition:
        """The snapshot of an admitted run."""
        archived: Run | None = run
        if not isinstance(run, ArchivedRun):
            try:
                return await self._runs.definition(run)
            except KubeNotFound:
                # It is kept for as long as the run is, so the run may have gone to the archive a moment ago.
                archived = await self._archived.find(run.name)
        found = self._archived.definition(archived) if isinstance(archived, ArchivedRun) else None
        if found is None:
            raise RunNotFound()
        return found

    async def _change(self, run: Run, commands: Sequence[Command]) -> BatchChange:
        if isinstance(run, ArchivedRun):
            return await self._change_nothing(run, commands)
        try:
            batch = await self._runs.change_in_turn(run, commands)
        except KubeNotFound:
            raise RunNotFound() from None
        self._tell(batch.change)
        return batch

    async def _change_nothing(self, run: ArchivedRun, commands: Sequence[Command]) -> BatchChange:
        """What a run that is over says to commands: refusals, or that they were done before."""
        definition = await self.definition(run)
        batch = decide_in_turn(run, definition, commands, self._clock())
        if batch.decision.patch():
            raise RunClosed()
        return BatchChange(Change(run, batch.decision, definition, None), batch.outcomes)

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
        """Where to look for a run that is known by its id alone: hardly ever more than one place."""
        if not is_id("r", run_id) or run_id in self._absences:
            return ()
        known = self._index.owners_of(run_id)
        if known:
            return tuple(known)
        # Another process may have made it just now. One call finds it, however many namespaces there are.
        first, *others = self._organizations.namespaces()
        if not others:
            return (first,)
        found, _ = await self._client.list_all(RUN, field_selector=f"metadata.name={run_id}")
        if not found:
            self._absences.add(run_id)
        return tuple(body["metadata"]["namespace"] for body in found)

    def _is_only_archived(self, run_id: str, organization: Organization | None = None) -> bool:
        """Whether the cluster need not be read: the archive has the run (of that organization), and no list of the
        cluster's runs does."""
        owners = self._index.owners_of(run_id).values()
        is_live = bool(owners) if organization is None else organization.name in owners
        return self._archived.knows(run_id, organization) and not is_live and self._index.informer.connected

    async def _read(
        self, run_id: str, namespaces: Sequence[str], fits: Callable[[Run], bool] = lambda _: True
    ) -> Run | None:
        """The run as the cluster has it, if it `fits`; None when it has none such there."""
        if not is_id("r", run_id):
            raise RunNotFound()
        for namespace in namespaces:
            try:
                run = await self._runs.get(namespace, run_id)
            except KubeNotFound:
                continue
            except ValidationError as error:  # of what was admitted all can be read
                logger.warning("run.unreadable", extra={"run_id": run_id, "reason": error.errors()[0]["msg"]})
                continue
            if fits(run):
                return run
        return None


def _is_of(run: Run, organization: Organization) -> bool:
    return run.resolved is not None and run.resolved.organization == organization.name


async def _by(commands: Sequence[Command], who: Who, run: Run) -> Sequence[Command]:
    member = await who(run)
    return commands if member is None else [replace(command, by=member) for command in commands]
