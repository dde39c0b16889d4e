"""Other programs on the same processors: how much of the machine they had while something was measured (absolute
figures mean little on a busy machine), and some that keep it busy on purpose."""

import asyncio
import contextlib
import math
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev.perf.load.probes import TICKS_PER_S, family_of, processor_s
from checklist_dev.system.processes import Child

_SAMPLE_EVERY_S: Final = 1.0
_PROC: Final = Path("/proc")
_BUSY: Final = """
import sys, time
share = float(sys.argv[1])
while True:
    pause_at = time.monotonic() + 0.05 * share
    while time.monotonic() < pause_at:
        pass
    time.sleep(0.05 * (1 - share))
"""


@dataclass(slots=True)
class Share:
    """Ticks of all processors: those there were, and those that neither we nor our children used, and were not idle."""

    all: int = 0
    others: float = 0.0

    @property
    def percent(self) -> float | None:
        """None where the kernel does not tell."""
        return max(0.0, 100.0 * self.others / self.all) if self.all else None


@asynccontextmanager
async def watching() -> AsyncIterator[Share]:
    """Fills the share while the block runs."""
    share = Share()
    task = asyncio.create_task(_sample(share))
    try:
        yield share
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _sample(share: Share) -> None:
    try:
        before, ours_before = _machine(), _ours()
        while True:
            await asyncio.sleep(_SAMPLE_EVERY_S)
            now, ours = _machine(), _ours()
            busy = now[1] - before[1]
            # Who ended in between is missing in the second look; who began is missing in the first.
            own = sum(ticks - ours_before.get(pid, 0) for pid, ticks in ours.items())
            share.all += now[0] - before[0]
            share.others += max(0, busy - own)
            before, ours_before = now, ours
    except (OSError, ValueError, IndexError):
        share.all = 0


def _machine() -> tuple[int, int]:
    """All ticks and the busy ones, since the start of the machine."""
    fields = [int(word) for word in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]]
    idle = fields[3] + fields[4]
    return sum(fields[:8]), sum(fields[:8]) - idle


def _ours() -> dict[int, float]:
    """Ticks of this process and its descendants (a browser is the child of its driver), by process id."""
    found = {}
    for pid in family_of(os.getpid()):
        with contextlib.suppress(OSError):
            found[pid] = processor_s(pid) * TICKS_PER_S
    return found


@contextmanager
def busy_neighbours(cores: float, folder: Path) -> Iterator[None]:
    """Processes that use so many cores together, none of them more than one, until the block or this process ends."""
    shares = [min(1.0, cores - whole) for whole in range(math.ceil(cores))]
    neighbours = [
        Child(
            f"neighbour-{n}",
            [*(sys.executable, "-I", "-S", "-c", _BUSY), str(share)],
            log=folder / f"neighbour-{n}.log",
        )
        for n, share in enumerate(shares)
    ]
    try:
        for neighbour in neighbours:
            neighbour.start()
        yield
    finally:
        for neighbour in neighbours:
            neighbour.stop(grace_s=0)
