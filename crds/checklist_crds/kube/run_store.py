"""Reads and changes runs in the cluster by compare-and-swap."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import ServiceError
from ..platform.tracing import link_current, traceparent_of
from ..resources.kinds import RUN
from ..resources.run import Run
from ..resources.template_definition import Definition
from ..runs.batch import BatchDecision, Outcome, decide_in_turn
from ..runs.commands import Command
from ..runs.lifecycle import Decision
from ..times import Clock
from ..values.json_text import JsonObject
from .client import KubeClient, conflict_pauses
from .errors import KubeConflict, KubeNotFound
from .revisions import RevisionStore
from .run_writes import write_status


@dataclass(frozen=True, slots=True)
class Change:
    """A run after one or more commands, as stored in the cluster."""

    run: Run
    decision: Decision
    definition: Definition
    body: JsonObject | None
    """The written object; None if nothing changed."""


@dataclass(frozen=True, slots=True)
class BatchChange:
    """Results of several commands, together and each."""

    change: Change
    outcomes: tuple[Outcome, ...]

    def single(self) -> Change:
        """Returns the change of a single command. Raises what `decide` raised for it."""
        [outcome] = self.outcomes
        if isinstance(outcome, ServiceError):
            raise outcome
        return self.change


class RunStore:
    """Reads and changes single runs. Reads go to the cluster; `change_remembered` starts from a known run."""

    def __init__(self, client: KubeClient, revisions: RevisionStore, clock: Clock) -> None:
        self._client = client
        self._revisions = revisions
        self._clock = clock

    async def get(self, namespace: str, name: str) -> Run:
        """Raises KubeNotFound."""
        body = await self._client.get(RUN, name, namespace)
        link_current(traceparent_of(body))
        return Run.parse(body)

    async def definition(self, run: Run) -> Definition:
        """Returns the snapshot of an admitted run."""
        return await self._revisions.definition(run.namespace, run.admitted_as.revision_ref.name)

    async def change(self, namespace: str, name: str, command: Command, *, known: Run | None = None) -> Change:
        """Applies `command`. Raises what `decide` raises, and KubeError.

        `known` is the run as just read, which saves a read.
        """
        run = known if known is not None else await self.get(namespace, name)
        return (await self.change_in_turn(run, [command])).single()

    async def change_in_turn(self, run: Run, commands: Sequence[Command]) -> BatchChange:
        """Applies `commands` (at least one) in order, with one write, or several if they are large. Raises KubeError.

        `run` is as just read by the caller; if it is stale, the write is refused and the run is read again. After
        KubeUnavailable, the last write may have been done, and those before it were; the op_ids of the commands make a
        retry safe.
        """
        known, pauses_s = run, conflict_pauses()
        while True:
            definition = await self.definition(known)
            batch = await self._decide(known, definition, commands)
            try:
                written = await self._write(known, definition, batch)
                break
            except KubeConflict:
                await asyncio.sleep(next(pauses_s))
            known = await self.get(run.namespace, run.name)
            if known.public_id != run.public_id:
                raise KubeNotFound(f"run {run.name} is gone, and its name is used again")
        return await self._apply_rest(written, commands)

    async def change_remembered(self, run: Run, commands: Sequence[Command]) -> BatchChange | None:
        """Applies `commands` to a possibly old state of the run, with one write and no read.

        Returns None when that is not possible: after a concurrent write, without a change, or when a command is
        refused, which requires a fresh read. Raises KubeNotFound and other KubeErrors.
        """
        try:
            definition = await self.definition(run)
            batch = await self._decide(run, definition, commands)
            if any(isinstance(outcome, ServiceError) for outcome in batch.outcomes):
                return None
            written = await self._write(run, definition, batch)
        except (ServiceError, KubeConflict):
            return None
        return None if written.change.body is None else await self._apply_rest(written, commands)

    async def _decide(self, run: Run, definition: Definition, commands: Sequence[Command]) -> BatchDecision:
        now = self._clock()
        if len(commands) == 1:
            return decide_in_turn(run, definition, commands, now)
        # In a thread: two hundred on a checklist of 500 steps take 0.7 s.
        return await asyncio.to_thread(decide_in_turn, run, definition, commands, now)

    async def _apply_rest(self, first: BatchChange, commands: Sequence[Command]) -> BatchChange:
        """Applies the commands that did not fit into the first write."""
        left = commands[len(first.outcomes) :]
        if not left:
            return first
        rest = await self.change_in_turn(first.change.run, left)
        before, repeated = first.change.decision.before, first.change.decision.repeated
        decision = replace(rest.change.decision, before=before, repeated=repeated and rest.change.decision.repeated)
        change = replace(rest.change, decision=decision, body=rest.change.body or first.change.body)
        return BatchChange(change, (*first.outcomes, *rest.outcomes))

    async def _write(self, run: Run, definition: Definition, batch: BatchDecision) -> BatchChange:
        """Raises KubeConflict when the run changed since it was read."""
        body = await write_status(self._client, run, batch.decision.after)
        if body is None:
            return BatchChange(Change(run, batch.decision, definition, None), batch.outcomes)
        link_current(traceparent_of(body))
        return BatchChange(
            Change(run.written(batch.decision.after, body), batch.decision, definition, body), batch.outcomes
        )
