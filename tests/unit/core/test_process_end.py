"""Processes that use an object store end without tearing the interpreter down, which could abort them."""

import importlib
import os
import subprocess
import sys

import pytest

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
