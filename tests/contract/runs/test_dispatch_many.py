"""`checklist-dispatch dispatch --csv` as a program against the real API: killed at any time, each row is one run."""

import asyncio
import csv
import os
import sys
from pathlib import Path

import pytest
from tests.contract.conftest import Account, Api, StartApi, shared_api
from tests.waiting import eventually

from checklist_crds.resources.kinds import RUN

api = shared_api


async def start(api: Api, account: Account, *arguments: str) -> asyncio.subprocess.Process:
    given = {"CHECKLISTS_BASE_URL": api.base_url, "CHECKLISTS_API_KEY": account.key}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checklist_cli", "dispatch", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **given},
    )


async def end(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    _, errors = await process.communicate()
    return process.returncode, errors.decode()


def rows_of(result: Path) -> list[dict[str, str]]:
    with result.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


async def killed_and_repeated(api: Api, folder: Path, *, rows: int, kills: int) -> None:
    """Kill the command `kills` times in the middle, and let it end; the organization then has a run for each row."""
    table, result = folder / "rooms.csv", folder / "rooms.runs.csv"
    table.write_text("reference,name\n" + "".join(f"room {number},\n" for number in range(rows)))
    template = (await api.account.create_template())["id"]
    for kill in range(1, kills + 1):
        process = await start(api, api.account, template, "--csv", str(table))
        least = rows * kill // (kills + 1)

        def is_far_enough(least: int = least, process: asyncio.subprocess.Process = process) -> bool:
            assert process.returncode is None, "it ended before it was killed"
            return result.exists() and result.read_bytes().count(b",dispatched,") >= least

        await eventually(is_far_enough, within_s=max(60, rows / 5), every_s=0.01)
        process.kill()
        await process.wait()
        assert rows_of(result)[0]["status"] == "running"
        assert len({row["row"] for row in rows_of(result) if row["status"] == "dispatched"}) < rows
    status, errors = await end(await start(api, api.account, template, "--csv", str(table)))
    assert status == 0, errors
    found = rows_of(result)
    assert [row["reference"] for row in found] == [f"room {number}" for number in range(rows)]
    made = {body["metadata"]["name"]: body["spec"]["executorRef"] for body in await api.all_of(RUN)}
    assert made == {row["run_id"]: row["reference"] for row in found}
    assert (await api.http.get("/v1/usage")).json()["used"] == rows
    link = (await api.http.get(f"/v1/runs/{found[-1]['run_id']}/link")).json()["link"]
    assert found[-1]["link"] == link


async def test_a_job_that_is_killed_twice_and_repeated_makes_one_run_for_each_row(api: Api, tmp_path: Path) -> None:
    await killed_and_repeated(api, tmp_path, rows=300, kills=2)


@pytest.mark.verify
async def test_a_job_of_5000_rows_that_is_killed_makes_5000_runs(api: Api, tmp_path: Path) -> None:
    await killed_and_repeated(api, tmp_path, rows=5_000, kills=3)


async def test_a_job_keeps_to_the_rate_limit_and_ends_at_the_quota(start_api: StartApi, tmp_path: Path) -> None:
    # So low that even a busy machine exceeds it.
    api = await start_api(CHECKLISTS_RATE_LIMIT="2/s burst 1")
    account = await api.make_account(plan={"runsPerMonth": 5})
    template = (await account.create_template())["id"]
    table = tmp_path / "rooms.csv"
    table.write_text("reference\n" + "".join(f"room {number}\n" for number in range(8)))
    status, errors = await end(await start(api, account, template, "--csv", str(table)))
    assert status == 1, errors
    assert "429" in errors and "5 of 8 rows dispatched, 3 left" in errors and "402" in errors
    assert [row["status"] for row in rows_of(tmp_path / "rooms.runs.csv")].count("waiting") == 3


async def test_a_row_that_the_service_refuses_does_not_keep_the_others_back(api: Api, tmp_path: Path) -> None:
    template = (await api.account.create_template())["id"]
    table, secret = tmp_path / "rooms.csv", tmp_path / "secret"
    secret.write_text("a-secret-of-the-test")
    table.write_text("reference,webhook_url\na,https://hooks.example.com/\nb,https://10.0.0.localhost/\nc,\n")
    process = await start(api, api.account, template, "--csv", str(table), "--secret-file", str(secret))
    status, errors = await end(process)
    assert (status, "2 of 3 rows dispatched, 1 refused" in errors) == (1, True), errors
    refused = rows_of(tmp_path / "rooms.runs.csv")[1]
    assert refused["status"] == "refused" and "webhook.url" in refused["error"]
