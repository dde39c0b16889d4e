"""A table of rooms in the demo: `checklist-dispatch dispatch --csv` is killed in the middle, and repeated."""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from checklist_dev.browser.stage import Stage
from checklist_dev.demo.transcript import Transcript
from checklist_dev.failures import Failure

_ROOMS: Final = 300
_WITHIN_S: Final = 60.0
# As Excel saves it: byte order mark, semicolons.
_TABLE: Final = "\ufeffReference;Name;Expires\r\n" + "".join(
    f"room {number};Ida;2d\r\n" for number in range(101, 101 + _ROOMS)
)


def dispatch_a_table(stage: Stage, say: Transcript, template_id: str) -> None:
    """Dispatch a run for each room, once. Raises Failure."""
    with tempfile.TemporaryDirectory(prefix="checklist-demo-") as folder:
        table, result = Path(folder) / "rooms.csv", Path(folder) / "rooms.runs.csv"
        table.write_text(_TABLE, newline="")
        before = stage.rest.call("GET", "/v1/usage")["used"]
        process = _start(stage, template_id, table)
        _wait_for(process, result)
        process.kill()
        process.communicate()
        noted = result.read_bytes().count(b";dispatched;")
        say.check(f"the command was killed after {noted} of {_ROOMS} rows", noted < _ROOMS, noted)
        repeated = _start(stage, template_id, table)
        _, errors = repeated.communicate(timeout=_WITHIN_S)
        say.check("repeated, it ends with exit status 0", repeated.returncode == 0, errors)
        with result.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, delimiter=";"))
        used = stage.rest.call("GET", "/v1/usage")["used"] - before
        say.check(f"{_ROOMS} rows are {_ROOMS} runs", used == len(rows) == len({row["run_id"] for row in rows}), used)
        last = rows[-1]
        run = stage.rest.call("GET", f"/v1/runs/{last['run_id']}")
        link = stage.rest.call("GET", f"/v1/runs/{last['run_id']}/link")["link"]
        say.check(
            "the result has the run and the link of each row",
            (run["executor_ref"], link) == (last["reference"], last["link"]),
            last,
        )


def _start(stage: Stage, template_id: str, table: Path) -> "subprocess.Popen[str]":
    account = stage.service.account
    given = {"CHECKLISTS_BASE_URL": stage.service.base_url, "CHECKLISTS_API_KEY": account.api_key}
    return subprocess.Popen(
        [sys.executable, "-m", "checklist_cli", "dispatch", template_id, "--csv", str(table)],
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(process: "subprocess.Popen[str]", result: Path) -> None:
    """Wait until a third of the rows is dispatched. Raises Failure."""
    deadline = time.monotonic() + _WITHIN_S
    while not result.exists() or result.read_bytes().count(b";dispatched;") < _ROOMS // 3:
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failure("the command ended, or dispatched too little, before it was killed")
        time.sleep(0.002)
