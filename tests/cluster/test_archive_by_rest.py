"""The real archiver moves runs while the real API is asked for them: no caller sees them move."""

import asyncio
from pathlib import Path

import httpx
import pytest
from tests.cluster.archive_lab import Archiving, in_cluster, keep, settled_run
from tests.cluster.operator_lab import Lab

from checklist_crds.archive import ArchiveStore


@pytest.fixture
def archiving(lab: Lab, tmp_path: Path) -> Archiving:
    """Into the store that `rest` reads."""
    return Archiving.over(lab.client, ArchiveStore.open((tmp_path / "photos").as_uri()), lab.namespace)


async def shown(rest: httpx.AsyncClient, path: str) -> bytes:
    response = await rest.get(path, headers={"X-Request-Id": "same"})
    assert response.status_code == 200, (path, response.text)
    return response.content


async def test_runs_are_told_alike_and_once_at_every_moment_of_their_move(
    lab: Lab, rest: httpx.AsyncClient, archiving: Archiving
) -> None:
    runs = [await settled_run(lab, days_ago=40 + number, deliveries=number % 2) for number in range(12)]
    staying = await lab.dispatch()
    paths = [f"/v1/runs/{run}" for run in (*runs, staying)] + ["/v1/runs?per_page=100", "/v1/runs?status=cancelled"]
    before = {path: await shown(rest, path) for path in paths}
    moving, looks = True, 0

    async def keep_asking(some: list[str]) -> None:
        nonlocal looks
        while moving:
            for path in some:
                assert await shown(rest, path) == before[path], path
                looks += 1

    async def move() -> None:
        nonlocal moving
        try:
            for days in (48, 44, 30):
                await keep(lab, finishedRunsDays=days)
                await archiving.retention.sweep()
            await asyncio.sleep(1.5)
        finally:
            moving = False

    await asyncio.gather(move(), *(keep_asking(paths[number::4]) for number in range(4)), keep_asking(paths[-2:]))
    assert looks > len(paths)
    assert [await in_cluster(lab, run) for run in runs] == [None] * len(runs)
    assert await in_cluster(lab, staying) is not None
    assert archiving.value("checklists_runs_archived_total") == len(runs)
