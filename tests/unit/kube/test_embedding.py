"""Kopf is embedded as a mere watcher: it is kept alive, it writes nothing, and its end stops nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Self

import pytest
import uvloop
from aiohttp import web
from tests.unit.kube.memory_cluster import played_cluster
from tests.waiting import eventually

from checklist_crds.resources.base import GROUP, VERSION
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_operator.runtime import embedding
from checklist_operator.runtime.embedding import EmbeddedKopf
from checklist_operator.runtime.handlers import WATCHED


class FakeCluster:
    """Discovery and watches. Each watch of runs shows `runs` of them, and then does what `then` says."""

    def __init__(self, runs: int = 1) -> None:
        self.runs = runs
        self.watches: list[tuple[str, dict[str, str]]] = []
        self.writes: list[str] = []
        self.then = b""
        self.application = web.Application()
        self.application.router.add_route("*", "/{path:.*}", self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            self.writes.append(f"{request.method} {request.path}")
            return web.json_response({}, status=405)
        if "watch" in request.query:
            return await self._watch(request)
        answers: dict[str, Any] = {
            "/api": {"versions": ["v1"]},
            "/api/v1": _resources(namespaces="Namespace", events="Event"),
            "/apis": {"groups": [_group(GROUP, VERSION), _group("apiextensions.k8s.io", "v1")]},
            "/apis/apiextensions.k8s.io/v1": _resources(customresourcedefinitions="CustomResourceDefinition"),
            f"/apis/{GROUP}/{VERSION}": _resources(**{kind.plural: kind.kind for kind in WATCHED}),
        }
        return web.json_response(answers[request.path])

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        plural = request.path.rsplit("/", 1)[1]
        self.watches.append((plural, dict(request.query)))
        response = web.StreamResponse()
        await response.prepare(request)
        if plural == RUN.plural:
            for number in range(1, self.runs + 1):
                named = {"name": f"r-{number}", "namespace": "n", "uid": f"u-{number}", "resourceVersion": "5"}
                body = {"metadata": named, "spec": {}}
                await response.write(json.dumps({"type": "ADDED", "object": body}).encode() + b"\n")
            if self.then:
                await asyncio.sleep(0.05)
                await response.write(self.then)
                return response
        await asyncio.sleep(60)
        return response


def _resources(**kinds: str) -> dict[str, Any]:
    rest = {"singularName": "", "namespaced": True, "verbs": ["list", "watch", "patch"]}
    return {"resources": [{"name": name, "kind": kind, **rest} for name, kind in kinds.items()]}


def _group(name: str, version: str) -> dict[str, Any]:
    return {"name": name, "versions": [{"version": version}], "preferredVersion": {"version": version}}


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    made = FakeCluster()
    async with played_cluster(made.application, monkeypatch):
        yield made


class Embedding:
    """An EmbeddedKopf that runs, and what it has brought."""

    def __init__(self) -> None:
        self.seen: list[tuple[Kind, str | None, str]] = []
        self.uids: list[str] = []
        self.calls: list[str] = []
        calls = {f"on_{what}": partial(self.calls.append, what) for what in ("start", "restart")}
        self.kopf = EmbeddedKopf(self._observe, namespaces=(), **calls)
        self.task = asyncio.create_task(self.kopf.run())

    def _observe(self, kind: Kind, type_: str | None, body: dict[str, Any]) -> None:
        self.seen.append((kind, type_, body["metadata"]["name"]))
        self.uids.append(body["metadata"]["uid"])

    async def until(self, count: int) -> None:
        await eventually(lambda: len(self.seen) >= count)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_kopf_watches_unsettled_objects_by_streaming(
    cluster: FakeCluster,
) -> None:
    async with Embedding() as kopf:
        await kopf.until(1)
        await eventually(lambda: len(cluster.watches) >= len(WATCHED))
    assert kopf.seen == [(RUN, None, "r-1")]
    queries = dict(cluster.watches)
    assert set(queries) == {kind.plural for kind in WATCHED}
    for kind in (RUN, WEBHOOK_DELIVERY):
        assert queries[kind.plural]["fieldSelector"] == "status.settled!=true"
    assert all(query["sendInitialEvents"] == "true" for query in queries.values())
    assert cluster.writes == []

    def tasks_of_kopf() -> list[str]:
        names = [task.get_name() for task in asyncio.all_tasks()]
        return [name for name in names if any(part in name for part in ("watcher", "worker", "credentials"))]

    await eventually(lambda: not tasks_of_kopf())


@pytest.mark.parametrize(
    "fatal", [b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}\n', b'{"type":"MODIFIED","obj']
)
async def test_kopf_failures_restart(cluster: FakeCluster, fatal: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_FIRST_PAUSE_S", 0.01)
    cluster.then = fatal
    async with Embedding() as kopf:
        await kopf.until(1)
        delivery = asyncio.create_task(asyncio.sleep(3600))  # made while Kopf runs, as deliveries are
        await kopf.until(3)
        assert not delivery.done()
        assert kopf.calls[:5] == ["start", "restart", "start", "restart", "start"]
        watchers = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("watcher for")]
        assert len(watchers) == len(set(watchers))  # none of an earlier life is left
        delivery.cancel()


async def test_an_object_is_not_reported_after_another_one_took_its_name(cluster: FakeCluster) -> None:
    def line(type_: str, uid: str, version: int) -> bytes:
        named = {"name": "r-1", "namespace": "n", "uid": uid, "resourceVersion": str(version)}
        return json.dumps({"type": type_, "object": {"metadata": named, "spec": {}}}).encode() + b"\n"

    cluster.then = line("MODIFIED", "u-1", 6) + line("DELETED", "u-1", 7) + line("ADDED", "new", 8)
    async with Embedding() as kopf:
        await eventually(lambda: kopf.uids.count("new") >= 2)  # the watch opens again, and shows an old list
    assert set(kopf.uids[kopf.uids.index("new") :]) == {"new"}


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_end_in_the_middle_of_a_burst_leaves_nothing_for_the_loop_to_close_in_its_own_order(
    monkeypatch: pytest.MonkeyPatch, make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    complaints: list[str] = []

    async def end_after(count: int) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
        application = FakeCluster(runs=100).application
        async with played_cluster(application, monkeypatch), Embedding() as kopf:
            await kopf.until(count)

    for count in (1, 5, 99):  # a cancelled consumer stands at another place each time
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(end_after(count))
    assert complaints == []
