"""The archiver is killed before and after each of its calls of the Kubernetes API and of the archive's store; another
one goes on. At every moment each run can be read, in the cluster or in the archive, and in the end each is in the
archive once, in the cluster no more, and nothing else is left behind.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest_asyncio
from tests.cluster import archive_lab
from tests.cluster.archive_lab import Archiving, files_in, in_archive, in_cluster, keep, manifests, settled_run
from tests.cluster.operator_lab import Lab

from checklist_crds.archive import ArchiveStore, Record
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.kinds import RUN
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane

RUNS = 3
EVERY = 1 if os.environ.get("CHECKLISTS_ALL_CUTS") else 3
"""Of the points; those between a store's write and the first deletion are all cut in any case."""


class Killed(BaseException):
    """Nothing of what runs after it is part of the process any more."""


class Course:
    """Counts the points that an archiver passes; at the `cut`th it is dead."""

    def __init__(self, cut: int | None = None) -> None:
        self._cut = cut
        self.points: list[str] = []
        self.dead = False

    def point(self, name: str) -> None:
        if self.dead or len(self.points) == self._cut:
            self.dead = True
            raise Killed()
        self.points.append(name)


class CuttingClient(KubeClient):
    """The connections of `shared`; each call is two points."""

    def __init__(self, shared: KubeClient, course: Course) -> None:
        self.__dict__.update(shared.__dict__)
        self._course = course

    async def _call(self, method: str, path: str, **named: Any) -> JsonObject:
        kind = path.split("/")[-2 if method in ("DELETE", "PATCH") else -1].split("?", maxsplit=1)[0]
        self._course.point(f"{method} {kind}: before")
        answer = await super()._call(method, path, **named)
        self._course.point(f"{method} {kind}: after")
        return answer


class CuttingStore(ArchiveStore):
    """Each call is two points."""

    course: Course

    @contextmanager
    def _points(self, verb: str, key: str) -> Iterator[None]:
        kind = "manifest" if key.endswith(".manifest.json") else "part"
        step = f"{verb} {'mark' if key.startswith('archive-unfinished/') else kind}"
        self.course.point(f"{step}: before")
        yield
        self.course.point(f"{step}: after")

    async def put(self, key: str, content: bytes) -> None:
        with self._points("put", key):
            await super().put(key, content)

    async def get(self, key: str) -> bytes | None:
        with self._points("get", key):
            return await super().get(key)

    async def delete(self, keys: Any) -> None:
        with self._points("delete", keys[0]):
            await super().delete(keys)


class Stage:
    """The same runs again for each cut: each case makes its own, in an organization of its own."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.store = ArchiveStore.open(folder.as_uri())
        self.runs: dict[str, set[str]] = {}

    async def plant(self) -> None:
        await keep(self.lab, finishedRunsDays=30)
        for number in range(RUNS):
            run = await settled_run(self.lab, days_ago=40, deliveries=number)
            self.runs[run] = await self._deliveries(run)

    async def _deliveries(self, run: str) -> set[str]:
        return {body["metadata"]["name"] for body in await self.lab.deliveries(run)}

    def archiving(self, course: Course) -> Archiving:
        store = CuttingStore.open(self.folder.as_uri())
        store.course = course
        return Archiving.over(CuttingClient(self.lab.client, course), store, self.lab.namespace)

    async def assert_readable(self, where: str) -> None:
        """Each run with all of its deliveries, in one place at least."""
        for run, deliveries in self.runs.items():
            if await in_cluster(self.lab, run) is not None:
                assert await self._deliveries(run) == deliveries, where
                continue
            archived = await in_archive(self.store, run)
            assert archived is not None, f"{where}: {run} is in neither"
            assert {body["metadata"]["name"] for body in archived.deliveries} == deliveries, where

    async def assert_moved_once(self, where: str, *, changed: bool = False) -> None:
        """One that `changed` after its part counted is in a later part as well; a part that does not count then stays
        for ten minutes."""
        for run in self.runs:
            assert await in_cluster(self.lab, run) is None, where
        assert await archive_lab.delivery_names(self.lab) == set(), where
        found, keys = await manifests(self.store), files_in(self.folder)
        moved = [run for manifest in found for run in manifest.run_ids]
        assert sorted(set(moved) if changed else moved) == sorted(self.runs), where
        if changed:
            return
        assert {key for key in keys if key.endswith(".jsonl.zst")} == {manifest.place.key for manifest in found}, where
        assert not [key for key in keys if key.startswith("archive-unfinished/") or "#" in key], where


@asynccontextmanager
async def staged(
    control_plane: ControlPlane, kubectl: Any, folder: Path, name: str, kind: Callable[[Lab, Path], Any] = Stage
) -> AsyncIterator[Any]:
    namespace = f"cuts-{uuid.uuid4().hex[:8]}-{name}"
    kubectl("create", "namespace", namespace)
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig)), namespaces=[namespace]) as client:
        lab = Lab(client, namespace)
        await lab.prepare()
        stage = kind(lab, folder / name)
        await stage.plant()
        yield stage


async def killed_at(stage: Stage, cut: int | None) -> Course:
    course = Course(cut)
    try:
        await stage.archiving(course).retention.sweep()
    except Killed:
        await asyncio.sleep(0.05)  # calls that were on their way arrive, as they would
    return course


@pytest_asyncio.fixture
async def recorded(control_plane: ControlPlane, kubectl: Any, tmp_path: Path) -> list[str]:
    async with staged(control_plane, kubectl, tmp_path, "whole") as stage:
        course = await killed_at(stage, None)
        await stage.assert_moved_once("undisturbed")
        return course.points


async def test_wherever_the_archiver_is_killed_no_run_is_lost_and_none_is_archived_twice(
    control_plane: ControlPlane, kubectl: Any, tmp_path: Path, recorded: list[str]
) -> None:
    steps = ["put mark", "put part", "get part", "put manifest", "get manifest", "delete mark"]
    for step in (*steps, "DELETE runs", "DELETE webhookdeliveries"):
        assert {f"{step}: before", f"{step}: after"} <= set(recorded), step
    first = recorded.index("put mark: before")
    cuts = [cut for cut in range(len(recorded)) if first <= cut <= first + 10 or cut % EVERY == 0]
    reached = 0
    for cut in cuts:
        async with staged(control_plane, kubectl, tmp_path, f"cut-{cut}") as stage:
            course = await killed_at(stage, cut)
            where = f"cut {cut}, {recorded[cut]}"
            reached += course.dead  # what goes on at a time varies, and with it how many points there are
            await stage.assert_readable(where)
            # A run changes meanwhile, whether its part counts already or not: it is archived as it is now.
            run, note = next(iter(stage.runs)), {"annotations": {"example.com/note": "late"}}
            changes = cut % 2 == 0 and await in_cluster(stage.lab, run) is not None
            if changes:
                await stage.lab.client.patch(RUN, run, {"metadata": note}, stage.lab.namespace)
            # The successor is killed as well, at the same distance from its start; then one goes on.
            await killed_at(stage, cut)
            await stage.assert_readable(f"{where}, twice")
            await killed_at(stage, None)
            await stage.assert_moved_once(where, changed=changes)
            archived = await in_archive(stage.store, run)
            assert isinstance(archived, Record), where
            assert ("example.com/note" in archived.run["metadata"].get("annotations", {})) is changes, where
    assert reached >= max(20, len(cuts) - 5)
