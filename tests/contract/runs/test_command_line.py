"""`checklist-dispatch dispatch --wait`, `wait` and `answers` as programs, against the real API."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.contract.conftest import Api, shared_api
from tests.waiting import WITHIN_S, eventually

from checklist_crds.runs.commands import AnswerStep, Submit

api = shared_api
pytestmark = pytest.mark.usefixtures("default_sigint")

ANSWER = AnswerStep(step_id="s-clean", value=False)
WHY = AnswerStep(step_id="s-why", value="grease")


@dataclass
class Program:
    """A running command. The test reads its first lines, `end` the rest."""

    process: asyncio.subprocess.Process

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).decode().rstrip("\n")

    async def end(self) -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        async with asyncio.timeout(WITHIN_S):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def program(api: Api, *arguments: str) -> AsyncIterator[Program]:
    given = {"CHECKLISTS_BASE_URL": api.base_url, "CHECKLISTS_API_KEY": api.account.key}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **given},
    )
    try:
        yield Program(process)
    except BaseException:
        if process.returncode is None:
            process.kill()
        print(*(text.decode() for text in await process.communicate()))  # pytest shows it with the failure
        raise
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def result(api: Api, *arguments: str) -> tuple[int, str, str]:
    async with program(api, *arguments) as running:
        return await running.end()


async def until_waiting(api: Api, run_id: str, running: Program) -> None:
    async def waits() -> bool:
        assert running.process.returncode is None, "the program has ended"
        return run_id in api.services.run_waits._waiters

    await eventually(waits)


async def test_a_step_of_a_pipeline_dispatches_waits_and_reads_the_answers(api: Api) -> None:
    template = (await api.account.create_template())["id"]
    options = ("--ref", "order 7", "--expires", "4h", "--wait", "-o", "json")
    async with program(api, "dispatch", template, *options) as running:
        dispatched: dict[str, Any] = json.loads(await running.line())
        run_id = dispatched["run_id"]
        assert dispatched["link"].startswith(f"https://checklists.example/r/{run_id}#")
        await until_waiting(api, run_id, running)
        await api.does(run_id, ANSWER, WHY, Submit())
        status, out, err = await running.end()
    assert (status, json.loads(out)["status"], json.loads(out)["executor_ref"]) == (0, "completed", "order 7")
    assert "#" not in out + err, "the link is printed once"
    assert api.account.key not in out + err
    assert await result(api, "answers", run_id, "--step", "s-why") == (0, "grease\n", "")
    status, out, _ = await result(api, "answers", run_id, "-o", "json")
    assert (status, json.loads(out)) == (0, (await api.http.get(f"/v1/runs/{run_id}")).json()["answers"])


@pytest.mark.parametrize(
    ("options", "number", "after"),
    [
        ([], signal.SIGINT, "pending"),
        (["--cancel-on-interrupt"], signal.SIGINT, "cancelled"),
        (["--cancel-on-interrupt"], signal.SIGTERM, "cancelled"),
    ],
)
async def test_an_interrupted_wait_leaves_the_run_or_cancels_it(
    api: Api, options: list[str], number: signal.Signals, after: str
) -> None:
    run_id = await api.account.new_run()
    async with program(api, "wait", run_id, *options) as running:
        await until_waiting(api, run_id, running)
        running.process.send_signal(number)
        status, _, err = await running.end()
    assert status == 130
    assert run_id in err and "Traceback" not in err
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["status"] == after
