"""Answers checklists of the service that `make run` started here, and prints how the memory of its processes grows.

    make run DETACH=1
    .venv/bin/python -m checklist_dev.load.answering 20000

Several people work at once; each dispatches a run of the load checklist to a receiver on loopback and answers it to its
end, with no pause between two answers.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from checklist_dev.chaos.executors import Executors
from checklist_dev.chaos.plan import RunPlan, plan_run
from checklist_dev.failures import Failure, run_tool
from checklist_dev.load.checklist import TEMPLATE
from checklist_dev.load.client import ServiceClient
from checklist_dev.load.rig import lasting_port
from checklist_dev.ports import port_is_free
from checklist_dev.processes import Child
from checklist_dev.repository import ROOT, STATE
from checklist_dev.service_state import ServiceState, read_json
from checklist_dev.soak.measures import resident_mib

_PEOPLE: Final = 8
_MEASURED: Final = ("kube-apiserver", "etcd", "api", "operator")
_LOOK_EVERY_S: Final = 0.5


async def answer(info: dict[str, Any], answers: int, every: int, receiver: str) -> None:
    """Print a line for each `every` answers, until there are `answers`. Raises Failure when some are refused."""
    rng, started = random.Random(16), time.monotonic()
    async with ServiceClient([info["base_url"]], info["api_key"], seed=16) as client:
        executors = Executors(client, await client.create_template(TEMPLATE), lambda behaviour: receiver, rng=rng)

        def next_plan() -> RunPlan | None:
            return plan_run(rng, pause_s=0.0, behaviour="ok") if executors.acknowledged < answers else None

        people = [asyncio.create_task(executors.work(next_plan)) for _ in range(_PEOPLE)]
        due = 0
        while True:
            over = all(person.done() for person in people)
            if executors.acknowledged >= due or over:
                memory = (f"{name} {resident_mib(info['pids'][name]):.0f}" for name in _MEASURED)
                counted = f"{executors.acknowledged} answers, {len(executors.records)} runs"
                print(f"{counted}, {time.monotonic() - started:.0f} s; MiB: {', '.join(memory)}", flush=True)
                due += every
            if over:
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        await asyncio.gather(*people)
    complaints = executors.failures + [line for record in executors.records for line in record.complaints]
    if complaints:
        raise Failure(f"{len(complaints)} complaints, the first: {complaints[0]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.load.answering",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answers", type=int, help="how many operations of people are acknowledged in all")
    parser.add_argument("--every", type=int, default=5000, help="answers between two lines (default: %(default)s)")
    options = parser.parse_args()
    info = read_json(ServiceState(STATE).info)
    if not info:
        raise Failure("no service runs here: make run DETACH=1 starts one")
    with tempfile.TemporaryDirectory() as folder:
        port = lasting_port()
        command = ["-m", "checklist_dev.load.receiver", "--port", str(port), "--host", "127.0.0.1"]
        receiver = Child(
            "receiver",
            [sys.executable, *command, "--log", f"{folder}/received.jsonl"],
            log=Path(folder) / "receiver.log",
            cwd=ROOT,
        )
        try:
            receiver.start()
            receiver.wait_until(lambda: not port_is_free(port), timeout_s=30.0)
            asyncio.run(answer(info, options.answers, options.every, f"http://127.0.0.1:{port}/ok/hook"))
        finally:
            receiver.stop()
    return 0


if __name__ == "__main__":
    run_tool(main)
