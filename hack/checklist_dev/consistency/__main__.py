"""`python -m checklist_dev.consistency`: four API processes, a hundred thousand mixed operations, no lost update.

Part of `make chaos`. Exit code 0 only when every promise held.
"""

import argparse
import asyncio
from pathlib import Path

from checklist_dev.chaos.transcript import Result, Transcript, write_report
from checklist_dev.consistency.scene import LONGEST_S, OPERATIONS, mixed_operations
from checklist_dev.failures import end_on_signals, run_tool
from checklist_dev.load.rig import Rig
from checklist_dev.repository import STATE
from checklist_dev.tether import end_with_parent


async def _play(folder: Path, transcript: Transcript, operations: int, for_s: float, seed: int) -> Result:
    # A cluster that does not wait for the disk is faster, and so meets more requests at the same moment.
    rig = Rig(folder, fsync=False, report=transcript.say)
    try:
        await asyncio.to_thread(rig.start)
        return await mixed_operations(rig, transcript, operations=operations, for_s=for_s, seed=seed)
    finally:
        await asyncio.to_thread(rig.stop)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.consistency", description=__doc__)
    parser.add_argument("--operations", type=int, default=OPERATIONS, help="how many (default: %(default)d)")
    parser.add_argument("--seconds", type=float, default=LONGEST_S, help="no longer than this (default: %(default).0f)")
    parser.add_argument("--seed", type=int, default=8, help="of what is done (default: %(default)d)")
    parser.add_argument("--folder", type=Path, default=STATE / "consistency", help="default: .run/consistency")
    arguments = parser.parse_args()
    end_with_parent()
    end_on_signals()
    transcript = Transcript(arguments.folder / "transcript.txt")
    result = asyncio.run(
        _play(arguments.folder / "rig", transcript, arguments.operations, arguments.seconds, arguments.seed)
    )
    transcript.tell(result.findings)
    transcript.say(", ".join(f"{name} {value}" for name, value in result.figures.items()))
    write_report(arguments.folder / "consistency.json", [result], {"seed": arguments.seed})
    return 0 if result.holds else 1


if __name__ == "__main__":
    run_tool(main)
