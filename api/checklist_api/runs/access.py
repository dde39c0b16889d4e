"""Reads and changes runs by public id, checking namespace and admission.

Runs that have left the cluster are read from the archive and are immutable.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from checklist_crds.errors import RunClosed, RunNotAdmitted, RunNotFound
from checklist_crds.ids import is_id
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_lookup import find_renamed
from checklist_crds.kube.run_store import BatchChange, Change, RunStore
from checklist_crds.platform.ttl_cache import expiring_keys
from checklist_crds.resources.kinds import RUN, TEMPLATE, Key, key_of
from checklist_crds.resources.run import Run
from checklist_crds.resources.template import TemplateMeta
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.batch import decide_in_turn
from checklist_crds.runs.commands import Command
from checklist_crds.times import Clock

from ..archive.reading import ArchivedRuns
from ..archive.run import ArchivedRun
from ..cluster.guard import GuardedKubeClient
from ..cluster.keyed_locks import KeyedLocks
from ..http.rate_limit import LocalRateLimiter
from ..index.runs import RunIndex
from ..organizations.directory import Organization, OrganizationDirectory
from ..settings.rates import Rate
from .recent import RecentRuns

logger = logging.getLogger(__name__)

_LOOK_UPS: Final = Rate(1, 10)

Who = Callable[[Run], Awaitable[str | None]]
"""Returns the id of the member who acts on a run; None if the run requires no member. Raises refusals."""


class RunAccess:
    """Reads single runs from the cluster, else from the archive, and changes them. All methods raise RunNotFound,
    KubeError and ServiceUnavailable (archive unavailable, or restore in progress)."""

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
        self._renamed_absences = expiring_keys()
        self._look_ups = LocalRateLimiter()
        self._recent = RecentRuns()
        self._locks = KeyedLocks()
        index.add_handler(self._recent.apply)
        self._runs = runs
        self._index = index
        self._organizations = organizations

    async def of_organization(self, run_id: str, organization: Organization) -> Run:
        """Return the run of `organization`."""
        run = None
        if not self._is_only_archived(run_id, organization):
            run = await self._in_cluster(run_id, organization)
        if run is None:
            # Runs of other organizations take the same path as missing ones.
            run = await self._archived.find(run_id, organization)
        if run is None:
            raise RunNotFound()
        return run

    async def require_none_awaits_admission(self, run_id: str, organization: Organization) -> None:
        """Raises RunNotAdmitted for a run made with kubectl that names `organization` and is not admitted."""
        if not is_id("r", run_id):
            return
        # Without admission, only a run that is named by its id has one.
        found = [await self._read(run_id, namespace, run_id) for namespace in organization.namespaces]
        run = next((run for run in found if run is not None and run.resolved is None), None)
        if run is None or await self._organization_named_by(run) != organization.name:
            return
        admitted = next((condition for condition in run.status.conditions if condition.type == "Admitted"), None)
        if admitted is None:
            raise RunNotAdmitted()
        raise RunNotAdmitted(f"The run is not admitted ({admitted.reason}): {admitted.message}")

    async def _organization_named_by(self, run: Run) -> str | None:
        """Return the organization by the rule of the operator: the run's own reference, else that of its template."""
        spec = run.spec
        if spec.organization_ref is not None:
            return spec.organization_ref.name
        template = spec.template_ref.name if spec.template_ref else spec.template_id
        try:
            return TemplateMeta.of(await self._client.get(TEMPLATE, template or "-", run.namespace)).organization
        except (KubeNotFound, ValueError, KeyError, TypeError):
            return None

    async def by_id(self, run_id: str) -> Run:
        """Return the run by its id only, for the preview; the oldest one if the id is ambiguous."""
        if not self._is_only_archived(run_id):
            async for namespace, name in self._places_of(run_id):
                run = await self._read(run_id, namespace, name)
                if run is not None and await self._is_valid(run):
                    return run
        archived = await self._archived.find(run_id)
        if archived is None or not await self._is_valid(archived):
            self._organizations.require_none_restoring()
            raise RunNotFound()
        return archived

    async def change(self, run: Run, command: Command) -> Change:
        """Apply `command` to a run that was just read, and update lists. Raises the errors of `decide`."""
        return (await self._change(run, [command])).single()

    async def change_by_link(self, run_id: str, organization: Organization, command: Command, who: Who) -> Change:
        """Apply one command like `change_batch_by_link`. Raises the errors of `decide` and `who`."""
        return (await self.change_batch_by_link(run_id, organization, [command], who)).single()

    async def change_batch_by_link(
        self, run_id: str, organization: Organization, commands: Sequence[Command], who: Who
    ) -> BatchChange:
        """Apply `commands` (at least one) in order, for the bearer of the run's link. Raises the errors of `who`.

        Changes of one run are serialized. A recently used run is changed without reading it again.
        """
        async with self._client.turn(self._locks.of(run_id)):
            name_of = self._index.names.name_of
            places = ((namespace, name_of(run_id, namespace)) for namespace in organization.namespaces)
            cached = (run for run in map(self._recent.get, places) if run is not None and run.public_id == run_id)
            run = next((run for run in cached if _is_of(run, organization)), None)
            if run is not None:
                batch = None
                with contextlib.suppress(KubeNotFound):  # archived or deleted
                    batch = await self._runs.change_remembered(run, await _with_member(commands, who, run))
                if batch is not None:
                    self._publish(batch.change)
                    return batch
            run = await self.of_organization(run_id, organization)
            return await self._change(run, await _with_member(commands, who, run))

    async def definition(self, run: Run) -> Definition:
        """Return the definition of an admitted run."""
        archived: Run | None = run
        if not isinstance(run, ArchivedRun):
            try:
                return await self._runs.definition(run)
            except KubeNotFound:
                # Revisions live as long as their runs, so the run may just have been archived.
                archived = await self._archived.find(run.id)
        found = self._archived.definition(archived) if isinstance(archived, ArchivedRun) else None
        if found is None:
            raise RunNotFound()
        return found

    async def _change(self, run: Run, commands: Sequence[Command]) -> BatchChange:
        if isinstance(run, ArchivedRun):
            return await self._decide_archived(run, commands)
        try:
            batch = await self._runs.change_in_turn(run, commands)
        except KubeNotFound:
            raise RunNotFound() from None
        self._publish(batch.change)
        return batch

    async def _decide_archived(self, run: ArchivedRun, commands: Sequence[Command]) -> BatchChange:
        """Decide commands on an immutable run: refusals, or repetitions of applied ones."""
        definition = await self.definition(run)
        batch = decide_in_turn(run, definition, commands, self._clock())
        if batch.decision.changes_anything:
            raise RunClosed()
        return BatchChange(Change(run, batch.decision, definition, None), batch.outcomes)

    def _publish(self, change: Change) -> None:
        if change.body is not None:
            self._index.observe(change.body)
        self._recent.put(change.run)
        before, after = change.decision.before.phase, change.decision.after.phase
        if before is not after:
            logger.info("run.phase_changed", extra={"run_id": change.run.id, "from": before.value, "to": after.value})

    async def _is_valid(self, run: Run) -> bool:
        """Whether the run is admitted and in a namespace of its organization."""
        organization = await self._organizations.get(run.resolved.organization) if run.resolved else None
        return organization is not None and organization.has(run.namespace)

    async def _in_cluster(self, run_id: str, organization: Organization) -> Run | None:
        for namespace in organization.namespaces:
            run = await self._read(run_id, namespace, self._index.names.name_of(run_id, namespace))
            if run is not None and _is_of(run, organization):
                return run
        if self._index.owners_of(run_id):
            return None
        for namespace, name in await self._admitted_unseen(run_id):
            run = await self._read(run_id, namespace, name) if organization.has(namespace) else None
            if run is not None and _is_of(run, organization):
                return run
        return None

    async def _places_of(self, run_id: str) -> AsyncIterator[Key]:
        """Yield namespace and name of runs with this id, usually one."""
        if not is_id("r", run_id) or run_id in self._absences:
            return
        known = self._index.places_of(run_id)
        if known:
            for place in known:
                yield place
            return
        # Another process may have created it just now. One call covers all namespaces.
        first, *others = self._organizations.namespaces()
        if others:
            found, _ = await self._client.list_all(RUN, field_selector=f"metadata.name={run_id}")
            places = [key_of(body) for body in found]
        else:
            places = [(first, run_id)]
        for place in places:
            yield place
        elsewhere = await self._admitted_unseen(run_id)
        for place in elsewhere:
            yield place
        if others and not places and not elsewhere:
            self._absences.add(run_id)

    async def _admitted_unseen(self, run_id: str) -> Sequence[Key]:
        """Find runs with this id and another name that the index does not know yet.

        The API server looks at every run for it, so it is rarely allowed: the index lags behind only for moments.
        """
        if run_id in self._renamed_absences or await self._look_ups.wait_for("", _LOOK_UPS) > 0:
            return ()
        found = await find_renamed(self._client, run_id)
        if not found:
            self._renamed_absences.add(run_id)
        return [key_of(body) for body in found]

    def _is_only_archived(self, run_id: str, organization: Organization | None = None) -> bool:
        """Whether only the archive has the run (of that organization), so that the cluster need not be read."""
        owners = self._index.owners_of(run_id).values()
        is_live = bool(owners) if organization is None else organization.name in owners
        return self._archived.has(run_id, organization) and not is_live and self._index.informer.connected

    async def _read(self, run_id: str, namespace: str, name: str) -> Run | None:
        """Read a run from the cluster; None if there is none, or its name is used by another one."""
        if not is_id("r", run_id):
            raise RunNotFound()
        try:
            run = await self._runs.get(namespace, name)
        except KubeNotFound:
            return None
        except ValidationError as error:  # never an admitted run
            logger.warning("run.unreadable", extra={"run_id": run_id, "reason": error.errors()[0]["msg"]})
            return None
        return run if run.public_id == run_id else None


def _is_of(run: Run, organization: Organization) -> bool:
    return run.resolved is not None and run.resolved.organization == organization.name


async def _with_member(commands: Sequence[Command], who: Who, run: Run) -> Sequence[Command]:
    member = await who(run)
    return commands if member is None else [replace(command, by=member) for command in commands]
