"""`make soak`: exit code 0 only if no stable measure has grown, and everything is accounted for.

Report in `.run/soak.json`, logs in `.run/soak/logs/`.
"""

import argparse
import asyncio
import random
import time
from pathlib import Path

from checklist_crds.platform.process_end import end_process
from checklist_dev.failures import end_on_signals, run_tool
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.soak.flatness import LEAST_JUDGED_S, WARM_UP
from checklist_dev.perf.soak.load import Pace
from checklist_dev.perf.soak.report import Outcome, table, write_report
from checklist_dev.perf.soak.soaking import HISTORY, Size, Soak
from checklist_dev.repository import STATE
from checklist_dev.system.tether import end_with_parent

FOLDER = STATE / "soak"
"""Data and logs."""


def print_outcome(outcome: Outcome, transcript: Transcript) -> None:
    for line in table(outcome.verdicts).splitlines():
        print(line, flush=True)
    for name, value in outcome.figures.items():
        print(f"  {name}: {value}", flush=True)
    transcript.report(outcome.findings)


def main() -> int:
    least = LEAST_JUDGED_S / (1 - WARM_UP) / 60
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.perf.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help=f"minutes of load, without start and end; below {least:g} trends are not judged (default: %(default)g)",
    )
    parser.add_argument(
        "--rate", type=float, default=Pace().runs_per_s, help="runs dispatched per second (default: %(default)g)"
    )
    parser.add_argument("--seed", type=int, help="of people and receivers (default: random, printed)")
    parser.add_argument(
        "--history", type=int, default=HISTORY, help="runs archived before the load (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=STATE / "soak.json", help="the report (default: .run/soak.json)")
    arguments = parser.parse_args()
    if arguments.minutes <= 0 or arguments.rate <= 0 or arguments.history < 1:
        parser.error("minutes, rate and history must be more than 0")
    end_with_parent()
    end_on_signals()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    transcript = Transcript(FOLDER.with_suffix(".txt"))
    size = Size(load_s=arguments.minutes * 60, pace=Pace(runs_per_s=arguments.rate), history=arguments.history)
    started = time.monotonic()
    outcome = asyncio.run(Soak(FOLDER, size, transcript, seed=seed).run())
    write_report(arguments.out, outcome)
    print_outcome(outcome, transcript)
    broken = outcome.broken
    transcript.say(f"BROKEN: {'; '.join(broken)}" if broken else "everything held")
    transcript.say(f"report {arguments.out}, {time.monotonic() - started:.0f} s, --seed {seed}")
    return 1 if broken else 0


if __name__ == "__main__":
    run_tool(main, end_process)
