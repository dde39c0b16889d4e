"""Kills processes of the service at random times and restarts them at once."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from checklist_dev.perf.load.ledger import Kill
from checklist_dev.perf.load.rig import Program

_IN_START_UP: Final = 0.15
"""The share of kills that do not wait for the process to be ready, to hit its start."""
_POLL_S: Final = 0.1


class Killer:
    """Kills only the given processes, by id. `ended_by_themselves`: ends without a kill."""

    def __init__(self, programs: Sequence[Program], *, mean_life_s: float, seed: int) -> None:
        self.kills: list[Kill] = []
        self.ended_by_themselves: list[str] = []
        self._programs = programs
        self._mean_life_s = mean_life_s
        self._rng = random.Random(seed)
        self._is_killing = False

    async def run(self, *, until: asyncio.Event) -> None:
        """Kill until the event, then leave all processes running and ready."""
        self._is_killing = True
        async with asyncio.TaskGroup() as group:
            for program in self._programs:
                group.create_task(self._torment(program, until), name=f"kill {program.name}")
        self._is_killing = False

    async def look_after(self) -> None:
        """Restart processes that ended without a kill, and record them, until cancelled."""
        while True:
            for program in self._programs:
                if not self._is_killing and not program.child.running:
                    self._note(program)
                    program.start()
            await asyncio.sleep(_POLL_S)

    def is_done(self, kills: int) -> bool:
        """Whether there were at least `kills`."""
        return len(self.kills) >= kills

    def count(self) -> dict[str, int]:
        return dict(Counter(kill.name for kill in self.kills))

    async def _torment(self, program: Program, until: asyncio.Event) -> None:
        while not until.is_set():
            if self._rng.random() < _IN_START_UP:
                await asyncio.sleep(self._rng.uniform(0.05, 1.5))
            else:
                await self._ready(program)
                await asyncio.sleep(min(self._rng.expovariate(1 / self._mean_life_s), 5 * self._mean_life_s))
            if until.is_set():
                break
            if not program.child.running:
                self._note(program)
            before = time.time()
            await asyncio.to_thread(program.kill)
            self.kills.append(Kill(program.name, before, time.time()))
            await asyncio.to_thread(program.start)
        await self._ready(program)

    async def _ready(self, program: Program) -> None:
        while not await asyncio.to_thread(program.is_ready):
            if not program.child.running:
                self._note(program)
                await asyncio.to_thread(program.start)
            await asyncio.sleep(_POLL_S)

    def _note(self, program: Program) -> None:
        self.ended_by_themselves.append(f"{program.name} {program.child.epitaph()}")
