"""`make chaos`: exit code 0 only when every promise held. Report in `.run/chaos.json`, logs in `.run/chaos/`."""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from checklist_dev.chaos.cluster_down import cluster_down
from checklist_dev.chaos.facts import Finding
from checklist_dev.chaos.kill_under_load import Size, kill_under_load
from checklist_dev.chaos.quota_boundary import quota_boundary
from checklist_dev.chaos.transcript import Result, Transcript, write_report
from checklist_dev.failures import Failure, end_on_signals, run_tool
from checklist_dev.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.tether import end_with_parent

GAPS = [0.5, 1.0, 2.0, 3.0]
SETTINGS = {"CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in GAPS), "CHECKLISTS_RETRY_JITTER": "0"}
SCENES = ("kills", "quota", "cluster")
LONG = Size(load_s=0.0, kills=200, events=10_000)
SHORT = Size(load_s=0.0, kills=15, events=500, settle_s=75.0, slow_runs=2, mean_life_s=1.5, pause_s=0.05)
_LONG_FROM_S = 300.0


def size_for(seconds: float) -> Size:
    """Of a run that shall take about so long in all."""
    whole, share = (LONG, 0.72) if seconds >= _LONG_FROM_S else (SHORT, 0.6)
    return Size(**{name: getattr(whole, name) for name in whole.__slots__} | {"load_s": seconds * share})


async def run_scenes(
    folder: Path, scenes: list[str], seconds: float, seed: int, transcript: Transcript
) -> list[Result]:
    """One control plane for each scene, with an etcd that waits for the disk."""
    outage_s = 20.0 if seconds >= _LONG_FROM_S else 6.0
    acts: dict[str, Callable[[Rig], Awaitable[Result]]] = {
        "kills": lambda rig: kill_under_load(rig, size_for(seconds), GAPS, transcript, seed=seed),
        "quota": lambda rig: quota_boundary(rig, transcript),
        "cluster": lambda rig: cluster_down(rig, GAPS, transcript, outage_s=outage_s, seed=seed),
    }
    results = []
    for scene in scenes:
        rig = Rig(folder / scene, fsync=True, settings=SETTINGS, report=transcript.say)
        try:
            await asyncio.to_thread(rig.start)
            result = await acts[scene](rig)
        except Failure as failure:
            result = Result(scene, [Finding("the scene could be played", 1, [str(failure)])], logs=rig.logs())
        finally:
            await asyncio.to_thread(rig.stop)
        transcript.tell(result.findings)
        transcript.say(", ".join(f"{name} {value}" for name, value in result.figures.items()))
        results.append(result)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="about how long in all (default: %(default).0f)")
    parser.add_argument("--seed", type=int, help="of kills, answers and receivers (default: drawn, and told)")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this one; may be given several times")
    parser.add_argument("--folder", type=Path, default=STATE / "chaos", help="data and logs (default: .run/chaos)")
    parser.add_argument("--report", type=Path, default=STATE / "chaos.json", help="default: .run/chaos.json")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    transcript = Transcript(arguments.folder / "transcript.txt")
    started = time.monotonic()
    scenes = arguments.scene or list(SCENES)
    results = asyncio.run(run_scenes(arguments.folder, scenes, arguments.seconds, seed, transcript))
    seconds = round(time.monotonic() - started, 1)
    write_report(arguments.report, results, {"seed": seed, "seconds": seconds})
    broken = [finding.name for result in results for finding in result.findings if not finding.holds]
    transcript.say(f"BROKEN: {'; '.join(broken)}" if broken else "everything held")
    transcript.say(f"report {arguments.report}, logs {arguments.folder}, {seconds:.0f} s, --seed {seed}")
    return 1 if broken else 0


if __name__ == "__main__":
    run_tool(main)
