"""How long it takes until a standby works: after a kill and after a clean end, under load.

The same scene as in `make chaos`, with its judgement of what was lost or sent twice.
"""

import asyncio
import signal
from typing import Final

from checklist_dev.bench.report import Figure, Goal
from checklist_dev.chaos.takeovers import ROUND, Takeover, take_over, takeover_size
from checklist_dev.chaos.transcript import Transcript
from checklist_dev.load.rig import Rig

GAPS: Final = [0.5, 1.0, 2.0, 3.0]
TAKEOVER_SETTINGS: Final = {
    "CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in GAPS),
    "CHECKLISTS_RETRY_JITTER": "0",
}
_GOALS_S: Final = {signal.SIGKILL: 20.0, signal.SIGTERM: 3.0}
_SEED: Final = 8


async def measure_takeovers(rig: Rig, *, rounds: int) -> list[Figure]:
    """Four takeovers a round, one of them by SIGKILL. Raises Failure when nobody takes over."""
    signals = [number for _ in range(rounds) for number in ROUND]
    transcript = await asyncio.to_thread(Transcript, rig.folder / "takeovers.txt")
    result, takeovers = await take_over(rig, GAPS, transcript, signals=signals, size=takeover_size(signals), seed=_SEED)
    transcript.tell(result.findings)
    broken = [finding.name for finding in result.findings if not finding.holds]
    told = "; ".join(broken) or f"{len(signals)} takeovers, {result.figures['transmissions']} transmissions"
    return [
        *(_slowest(takeovers, number, goal_s) for number, goal_s in _GOALS_S.items()),
        Figure("promises broken during takeovers", len(broken), "", Goal("<=", 0), told),
    ]


def _slowest(takeovers: list[Takeover], number: signal.Signals, goal_s: float) -> Figure:
    times = sorted(one.seconds for one in takeovers if one.by is number)
    middle = f"median {times[len(times) // 2]:.1f} s of {len(times)}"
    name = f"the standby works after {number.name}, the slowest"
    return Figure(name, times[-1], "s", Goal("<=", goal_s), middle, (times[0], times[-1]))
