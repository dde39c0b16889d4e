"""The one way in which a run's status is changed: read, decide, write on condition, and again when others were faster.

What a write holds on: `run_patch`.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..resources.kinds import RUN
from ..resources.run import Run, RunStatus
from .client import JsonObject, KubeClient, retry_conflicts
from .run_patch import status_patch

Read = TypeVar("Read")
Written = TypeVar("Written")


async def read_decide_write(
    read: Callable[[], Awaitable[Read]], decide_and_write: Callable[[Read], Awaitable[Written]], *, known: Read | None
) -> Written:
    """Calls `decide_and_write` with what was read until no other write came in between.

    `known` is a copy that spares the first read. Raises what the two raise but KubeConflict, and KubeContended.
    """
    remembered = [known] if known is not None else []

    async def attempt() -> Written:
        return await decide_and_write(remembered.pop() if remembered else await read())

    written: Written = await retry_conflicts(attempt)
    return written


async def write_status(client: KubeClient, run: Run, after: RunStatus, *, tidy: bool = False) -> JsonObject | None:
    """The run as it is after one conditional write; None when nothing changes.

    `tidy` takes recorded events out of the outbox. Raises KubeConflict when somebody changed the run since it was read.
    """
    patch = status_patch(run, after, tidy=tidy)
    return await client.json_patch_status(RUN, run.name, patch, run.namespace) if patch else None
