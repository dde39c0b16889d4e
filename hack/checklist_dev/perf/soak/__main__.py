"""`make soak`: exit code 0 only if no stable measure has grown, and everything is accounted for.

Report in `.run/soak.json`, samples in `.run/soak/samples.csv`, logs in `.run/soak/logs/`. Ctrl-C ends it early with the
results so far.
"""

import argparse
import asyncio
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

from checklist_crds.platform.process_end import end_process
from checklist_dev.failures import end_on_signals, run_tool
from checklist_dev.perf.judgement.transcript import Transcript
from checklist_dev.perf.soak.flatness import LEAST_JUDGED_S, WARM_UP
from checklist_dev.perf.soak.load import Pace
from checklist_dev.perf.soak.report import Outcome, table, write_report, write_samples
from checklist_dev.perf.soak.soaking import HISTORY, Size, Soak
from checklist_dev.repository import STATE
from checklist_dev.system.tether import end_with_parent

INTERRUPTED = 130


async def soak(folder: Path, size: Size, transcript: Transcript, *, seed: int) -> Outcome:
    """Run until it is over, or the first SIGINT or SIGTERM; the second one ends it at once."""
    one = Soak(folder, size, transcript, seed=seed)
    loop = asyncio.get_running_loop()

    def end() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        end_on_signals()
        transcript.say("ending early, with the results so far")
        one.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError):  # not the main thread, which gets no signals
            loop.add_signal_handler(number, end)
    try:
        return await one.run()
    finally:
        if one.watcher is not None:
            write_samples(folder / "samples.csv", one.watcher.samples)


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
    parser.add_argument(
        "--retention",
        type=float,
        default=Size().retention_s,
        help="seconds that finished runs stay in the cluster (default: %(default)g)",
    )
    parser.add_argument("--folder", type=Path, default=STATE / "soak", help="data and logs (default: .run/soak)")
    parser.add_argument("--out", type=Path, default=STATE / "soak.json", help="the report (default: .run/soak.json)")
    arguments = parser.parse_args()
    if arguments.minutes <= 0 or arguments.rate <= 0 or arguments.history < 1 or arguments.retention <= 0:
        parser.error("minutes, rate, history and retention must be more than 0")
    end_with_parent()
    end_on_signals()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    transcript = Transcript(arguments.folder.with_suffix(".txt"))
    size = Size(
        load_s=arguments.minutes * 60,
        pace=Pace(runs_per_s=arguments.rate),
        history=arguments.history,
        retention_s=arguments.retention,
    )
    started = time.monotonic()
    outcome = asyncio.run(soak(arguments.folder, size, transcript, seed=seed))
    write_report(arguments.out, outcome)
    print_outcome(outcome, transcript)
    broken = outcome.broken
    if outcome.interrupted:
        transcript.say("ended early: nothing was accounted for")
    else:
        transcript.say(f"BROKEN: {'; '.join(broken)}" if broken else "everything held")
    transcript.say(f"report {arguments.out}, {time.monotonic() - started:.0f} s, --seed {seed}")
    if outcome.interrupted:
        return INTERRUPTED
    return 1 if broken else 0


if __name__ == "__main__":
    run_tool(main, end_process)
