"""Other programs on the same processors: measures their share during a measurement, which makes absolute figures
unreliable, and starts busy ones on purpose."""

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
    """Ticks of all processors: in total, and used by processes other than us and our descendants."""

    all: int = 0
    others: float = 0.0

    @property
    def percent(self) -> float | None:
        """None if the kernel does not report it."""
        return max(0.0, 100.0 * self.others / self.all) if self.all else None


@asynccontextmanager
async def watching() -> AsyncIterator[Share]:
    """Update the share during the block."""
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
            # Processes that ended or began in between are missing in one of the two samples.
            own = sum(ticks - ours_before.get(pid, 0) for pid, ticks in ours.items())
            share.all += now[0] - before[0]
            share.others += max(0, busy - own)
            before, ours_before = now, ours
    except (OSError, ValueError, IndexError):
        share.all = 0


def _machine() -> tuple[int, int]:
    """All ticks and the busy ones, since boot."""
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
    """Run processes that together use so many cores, at most one each, until the block or this process ends."""
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
