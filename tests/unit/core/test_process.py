"""Log lines of a process, and its end."""

import asyncio
import importlib
import json
import logging
import os
import re
import subprocess
import sys
from typing import Any

import aiohttp
import pytest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import CollectorRegistry

from checklist_api.logs import JsonLines as ApiLines
from checklist_api.metrics import Metrics as ApiMetrics
from checklist_crds.platform.log_lines import JsonLines, about, in_context
from checklist_crds.platform.readiness import Check
from checklist_dev.repository import ROOT
from checklist_dev.system.ports import free_ports
from checklist_operator.runtime.health import HealthServer
from checklist_operator.runtime.metrics import Metrics as OperatorMetrics

FIXED = {"ts", "level", "logger", "event"}


def written(formatter: logging.Formatter, extra: dict[str, Any]) -> dict[str, Any]:
    record = logging.makeLogRecord({"msg": "run.dispatched", "levelname": "INFO", "name": "checklist_api", **extra})
    line: dict[str, Any] = json.loads(formatter.format(record))
    return line


def test_lines_of_both_programs_have_the_same_fields_and_no_others_than_they_are_about() -> None:
    of_api = written(ApiLines(), {"run_id": "r-1"})
    of_operator = written(JsonLines(), {"answer": "private", **about(run_id="r-1")})
    assert of_api.keys() == of_operator.keys() == FIXED | {"run_id"}
    assert (of_operator["event"], of_operator["run_id"], of_operator["level"]) == ("run.dispatched", "r-1", "info")
    assert "private" not in str(of_operator)


async def test_a_line_says_which_request_it_belongs_to_unless_it_says_so_itself() -> None:
    async def request(number: int) -> list[str]:
        in_context(request_id=f"req-{number}")
        await asyncio.sleep(0)
        return [written(ApiLines(), extra)["request_id"] for extra in ({}, {"request_id": "other"})]

    answers = await asyncio.gather(*(asyncio.create_task(request(n)) for n in range(3)))
    assert answers == [[f"req-{n}", "other"] for n in range(3)]
    assert "request_id" not in written(ApiLines(), {})


async def test_an_operator_that_does_not_do_its_work_is_not_ready_and_says_why() -> None:
    checks = [Check("lease", None), Check("watches", "the watches are not open yet")]
    (port,) = free_ports(1)
    server = HealthServer("127.0.0.1", port, OperatorMetrics(), lambda: ("leading", checks, []))
    await server.start()
    try:
        async with aiohttp.ClientSession() as session:

            async def asked() -> tuple[int, dict[str, object]]:
                async with session.get(f"http://127.0.0.1:{port}/readyz") as response:
                    return response.status, json.loads(await response.text())

            status, body = await asked()
            assert (status, body["status"], body["reasons"]) == (503, "leading", ["the watches are not open yet"])
            checks[1] = Check("watches", None)
            status, body = await asked()
            assert (status, body["status"], body["reasons"]) == (200, "leading", [])
            assert body["checks"] == [{"name": name, "ok": True, "reason": None} for name in ("lease", "watches")]
    finally:
        await asyncio.shield(server.stop())


DOCUMENT = ROOT / "docs" / "metrics.md"
_ROW = re.compile(r"^\| `(checklists_\w+)` \| (\w+) \|(.*?)\|", re.MULTILINE)
Shape = tuple[str, frozenset[str]]


def documented() -> dict[str, Shape]:
    rows = _ROW.findall(DOCUMENT.read_text())
    assert len({name for name, _, _ in rows}) == len(rows), "a metric is described twice"
    return {name: (kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def served() -> dict[str, Shape]:
    operator = OperatorMetrics()
    operator.watch_size("heap", lambda: 0)
    operator.watch_age("retry", lambda: 0.0)
    return _shapes(operator.registry) | _shapes(ApiMetrics().registry)


def _shapes(registry: CollectorRegistry) -> dict[str, Shape]:
    shapes = {}
    for collector in list(registry._collector_to_names):
        names = frozenset(collector._labelnames) if isinstance(collector, MetricWrapperBase) else frozenset({"of"})
        for family in collector.collect():
            shapes[family.name] = (family.type, names)
    return shapes


def test_every_metric_is_described_with_its_kind_and_its_labels() -> None:
    assert documented() == served()


def test_no_label_holds_what_callers_choose() -> None:
    chosen = {"run_id", "event_id", "host", "url", "organization", "key", "namespace", "name"}
    assert {name: labels & chosen for name, (_, labels) in served().items() if labels & chosen} == {}


_TORN_DOWN = """
import os, sys
class Kept:
    def __del__(self, write=os.write):
        write(2, b"torn down")
kept = Kept()
"""


def _ended(script: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CHECKLISTS_") and name != "PYTHONUNBUFFERED"
    }
    return subprocess.run(
        [sys.executable, "-c", _TORN_DOWN + script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_process_ends_with_its_status_and_all_it_has_written_and_joins_its_threads() -> None:
    ended = _ended("""
import logging, threading, time
from checklist_crds.platform.process_end import end_process
def late():
    time.sleep(0.2)
    print("the thread's line")
print("in the buffer")
threading.Thread(target=late).start()
end_process(7)
""")
    assert (ended.returncode, ended.stderr) == (7, "")
    assert ended.stdout == "in the buffer\nthe thread's line\n"
    without_reader = """
import os
from checklist_crds.platform.process_end import end_process
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
print("unread")
end_process(7)
"""
    for script, expected in ((without_reader, (7, "")), ("sys.exit(3)", (3, "torn down"))):
        ended = _ended(script)
        assert (ended.returncode, ended.stderr) == expected


@pytest.mark.parametrize("name", ["checklist_cli", "checklist_api", "checklist_operator"])
def test_each_program_ends_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, ended = importlib.import_module(f"{name}.__main__"), list[int]()
    monkeypatch.setattr(program, "main", lambda: 7)
    monkeypatch.setattr(program, "end_process", ended.append)
    program.run()
    assert ended == [7]
