"""Runs in the cluster: read, decide, write on condition that nobody wrote in between."""

from dataclasses import dataclass

from ..errors import ServiceError
from ..run_lifecycle import Command, Decision, decide
from ..run_types import Run
from ..template_types import Definition
from ..times import Clock
from ..tracing import relate, traceparent_of
from .client import JsonObject, KubeClient, retry_conflicts
from .errors import KubeConflict
from .kinds import RUN
from .revisions import RevisionStore


@dataclass(frozen=True, slots=True)
class Change:
    """A run after a command, as it is in the cluster now."""

    run: Run
    decision: Decision
    definition: Definition
    body: JsonObject | None
    """What was written; None when nothing had to be."""


class RunStore:
    """Single runs, always read from the cluster itself."""

    def __init__(self, client: KubeClient, revisions: RevisionStore, clock: Clock) -> None:
        self._client = client
        self._revisions = revisions
        self._clock = clock

    async def get(self, namespace: str, name: str) -> Run:
        """Raises KubeNotFound."""
        body = await self._client.get(RUN, name, namespace)
        relate(traceparent_of(body))
        return Run.parse(body)

    async def definition(self, run: Run) -> Definition:
        """The snapshot of an admitted run."""
        return await self._revisions.definition(run.namespace, run.admitted_as.revision_ref.name)

    async def change(self, namespace: str, name: str, command: Command, *, known: Run | None = None) -> Change:
        """Apply `command`. Raises what `decide` raises, and KubeError.

        `known` is the run as the caller has just read it, which spares a read; if it is stale, the write is refused and
        the run is read anew.
        A write that did not answer (KubeUnavailable) may have been done; the command's op_id makes a retry safe.
        """
        just_read = [known] if known is not None else []

        async def attempt() -> Change:
            return await self._apply(just_read.pop() if just_read else await self.get(namespace, name), command)

        change: Change = await retry_conflicts(attempt)
        return change

    async def change_remembered(self, run: Run, command: Command) -> Change | None:
        """Apply `command` to a state of the run that may be old, with one write and no read.

        None when that does not do: somebody wrote since, or there is nothing to write, or the command is refused, which
        is only ever said after a fresh reading. Raises KubeNotFound and other KubeErrors.
        """
        try:
            change = await self._apply(run, command)
        except (ServiceError, KubeConflict):
            return None
        return change if change.body is not None else None

    async def _apply(self, run: Run, command: Command) -> Change:
        """Decide on this state of the run, and write. Raises what `decide` raises; KubeConflict when it is stale."""
        definition = await self.definition(run)
        decision = decide(run, definition, command, self._clock())
        patch = decision.patch()
        if not patch:
            return Change(run, decision, definition, None)
        body = await self._client.patch_status(
            RUN, run.name, patch, run.namespace, resource_version=run.resource_version
        )
        relate(traceparent_of(body))
        return Change(Run.parse(body), decision, definition, body)
