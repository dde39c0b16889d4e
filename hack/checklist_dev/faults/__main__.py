"""`make chaos`: exit code 0 if every guarantee held. Report in `.run/chaos.json`, logs in `.run/chaos/`."""

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from checklist_dev.failures import Failure, end_on_signals, run_tool
from checklist_dev.faults.cluster_down import cluster_down
from checklist_dev.faults.cuts.enumeration import LEAST_CASES, cut_everywhere
from checklist_dev.faults.kill_under_load import Size, kill_under_load
from checklist_dev.faults.quota_boundary import quota_boundary
from checklist_dev.faults.replicas.scene import OPERATIONS, mixed_operations
from checklist_dev.faults.takeovers import ROUND, take_over, takeover_size
from checklist_dev.faults.upgrade import upgrade_and_roll_back
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.perf.judgement.facts import Finding
from checklist_dev.perf.judgement.transcript import Result, Transcript, write_report
from checklist_dev.perf.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.system.tether import end_with_parent

GAPS = [0.5, 1.0, 2.0, 3.0]
SETTINGS = {"CHECKLISTS_RETRY_GAPS": ",".join(f"{gap:g}" for gap in GAPS), "CHECKLISTS_RETRY_JITTER": "0"}
SCENES = ("kills", "takeovers", "upgrade", "quota", "cluster", "cuts", "replicas")
LONG = Size(load_s=0.0, kills=200, events=10_000)
SHORT = Size(load_s=0.0, kills=15, events=500, settle_s=75.0, slow_runs=2, mean_life_s=1.5, pause_s=0.05)
UPGRADE = Size(load_s=480.0, kills=0, events=250, settle_s=120.0, slow_runs=1, pause_s=0.05, executors=16)
_LONG_FROM_S = 300.0
FOLDER, REPORT = STATE / "chaos", STATE / "chaos.json"


def size_for(seconds: float) -> Size:
    """The size of a scene for a run of about `seconds` in all."""
    whole, share = (LONG, 0.72) if seconds >= _LONG_FROM_S else (SHORT, 0.6)
    return Size(**{name: getattr(whole, name) for name in whole.__slots__} | {"load_s": seconds * share})


async def run_scenes(
    folder: Path, scenes: list[str], seconds: float, seed: int, transcript: Transcript
) -> list[Result]:
    """Run each scene with its own control plane, with an etcd that syncs to disk."""
    is_long = seconds >= _LONG_FROM_S
    outage_s = 20.0 if is_long else 6.0
    acts: dict[str, Callable[[Rig], Awaitable[Result]]] = {
        "kills": lambda rig: kill_under_load(rig, size_for(seconds), GAPS, transcript, seed=seed),
        "takeovers": lambda rig: _takeovers(rig, transcript, kills=5 if is_long else 1, seed=seed),
        "upgrade": lambda rig: upgrade_and_roll_back(rig, UPGRADE, GAPS, transcript, seed=seed),
        "quota": lambda rig: quota_boundary(rig, transcript),
        "cluster": lambda rig: cluster_down(rig, GAPS, transcript, outage_s=outage_s, seed=seed),
        "replicas": lambda rig: mixed_operations(
            rig, transcript, operations=OPERATIONS if is_long else 3_000, seed=seed
        ),
        "cuts": lambda rig: cut_everywhere(
            rig.cluster.kubeconfig,
            NAMESPACE,
            rig.folder,
            at_most=None if is_long else LEAST_CASES,
            report=transcript.say,
        ),
    }
    results = []
    for scene in scenes:
        result = await _with_a_cluster(scene, acts[scene], folder / scene, transcript)
        transcript.report(result.findings)
        transcript.say(", ".join(f"{name} {value}" for name, value in result.figures.items()))
        results.append(result)
    return results


async def _takeovers(rig: Rig, transcript: Transcript, *, kills: int, seed: int) -> Result:
    signals = [number for _ in range(kills) for number in ROUND]
    return await take_over(rig, GAPS, transcript, signals=signals, size=takeover_size(signals), seed=seed)


async def _with_a_cluster(
    scene: str, act: Callable[[Rig], Awaitable[Result]], folder: Path, transcript: Transcript
) -> Result:
    rig = Rig(folder, fsync=True, settings=SETTINGS, report=transcript.say)
    try:
        await asyncio.to_thread(rig.start)
        return await act(rig)
    except Failure as failure:
        return Result(scene, [Finding("the scene could be played", 1, [str(failure)])], logs=rig.logs())
    finally:
        await asyncio.to_thread(rig.stop)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.faults", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="total duration, about (default: %(default).0f)")
    parser.add_argument("--seed", type=int, help="of kills, answers and receivers (default: random, printed)")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this scene; can be repeated")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    transcript = Transcript(FOLDER / "transcript.txt")
    started = time.monotonic()
    scenes = arguments.scene or list(SCENES)
    results = asyncio.run(run_scenes(FOLDER, scenes, arguments.seconds, seed, transcript))
    seconds = round(time.monotonic() - started, 1)
    write_report(REPORT, results, {"seed": seed, "seconds": seconds})
    broken = [finding.name for result in results for finding in result.findings if not finding.holds]
    transcript.say(f"BROKEN: {'; '.join(broken)}" if broken else "everything held")
    transcript.say(f"report {REPORT}, logs {FOLDER}, {seconds:.0f} s, --seed {seed}")
    return 1 if broken else 0


if __name__ == "__main__":
    run_tool(main)
