"""Kopf is embedded as a mere watcher: it is kept alive, it writes nothing, and its end takes nobody else along."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import kopf
import pytest
import pytest_asyncio
import uvloop
from aiohttp import web

from checklist_crds.kube.client import KubeConnection
from checklist_crds.kube.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.resource_types import GROUP, VERSION
from checklist_operator import handlers
from checklist_operator.embedding import EmbeddedKopf
from checklist_operator.handlers import WATCHED, kopf_registry, kopf_settings


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
        core = [{"name": "namespaces", "kind": "Namespace"}, {"name": "events", "kind": "Event"}]
        extensions = [{"name": "customresourcedefinitions", "kind": "CustomResourceDefinition"}]
        answers: dict[str, Any] = {
            "/api": {"versions": ["v1"]},
            "/api/v1": {"resources": [_discovered(one) for one in core]},
            "/apis": {"groups": [_group(GROUP, VERSION), _group("apiextensions.k8s.io", "v1")]},
            "/apis/apiextensions.k8s.io/v1": {"resources": [_discovered(one) for one in extensions]},
            f"/apis/{GROUP}/{VERSION}": {
                "resources": [_discovered({"name": kind.plural, "kind": kind.kind}) for kind in WATCHED]
            },
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
                await asyncio.sleep(0.2)
                await response.write(self.then)
                return response
        await asyncio.sleep(60)
        return response


def _discovered(resource: dict[str, str]) -> dict[str, Any]:
    return {**resource, "singularName": "", "namespaced": True, "verbs": ["list", "watch", "patch"]}


def _group(name: str, version: str) -> dict[str, Any]:
    return {"name": name, "versions": [{"version": version}], "preferredVersion": {"version": version}}


@asynccontextmanager
async def serving(made: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    """The cluster that Kopf finds."""
    runner = web.AppRunner(made.application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = KubeConnection(f"http://127.0.0.1:{runner.addresses[0][1]}", None, dict)

    async def load() -> KubeConnection:
        return connection

    monkeypatch.setattr(handlers.KubeConnection, "load", load)
    yield made
    await runner.cleanup()


@pytest_asyncio.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    async with serving(FakeCluster(), monkeypatch) as made:
        yield made


class Embedding:
    """An EmbeddedKopf that runs, and what it has brought."""

    def __init__(self) -> None:
        self.seen: list[tuple[Kind, str | None, str]] = []
        self.starts = 0
        self.restarts = 0
        self.kopf = EmbeddedKopf(self._observe, namespaces=(), on_start=self._count_start, on_restart=self._count)
        self.task = asyncio.create_task(self.kopf.run())

    def _observe(self, kind: Kind, type_: str | None, body: dict[str, Any]) -> None:
        self.seen.append((kind, type_, body["metadata"]["name"]))

    def _count_start(self) -> None:
        self.starts += 1

    def _count(self) -> None:
        self.restarts += 1

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.seen) < count:
                await asyncio.sleep(0.02)

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()


async def test_it_watches_what_is_unsettled_and_lists_by_streaming(cluster: FakeCluster) -> None:
    async with Embedding() as embedding:
        await embedding.until(1)
        async with asyncio.timeout(5):
            while len(cluster.watches) < len(WATCHED):
                await asyncio.sleep(0.02)
    assert embedding.seen == [(RUN, None, "r-1")]
    queries = dict(cluster.watches)
    assert set(queries) == {kind.plural for kind in WATCHED}
    for kind in (RUN, WEBHOOK_DELIVERY):
        assert queries[kind.plural]["fieldSelector"] == "status.settled!=true"
    assert all(query["sendInitialEvents"] == "true" for query in queries.values())
    assert cluster.writes == []


@pytest.mark.parametrize(
    "fatal", [b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}\n', b'{"type":"MODIFIED","obj']
)
async def test_what_is_fatal_to_kopf_is_survived_and_takes_no_other_task_along(
    cluster: FakeCluster, fatal: bytes
) -> None:
    cluster.then = fatal
    async with Embedding() as embedding:
        await embedding.until(1)
        delivery = asyncio.create_task(asyncio.sleep(3600))  # made while Kopf runs, as deliveries are
        await embedding.until(3)
        assert not delivery.done()
        assert embedding.restarts >= 2
        assert embedding.starts >= 3  # the process's signals were taken back each time
        watchers = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("watcher for")]
        assert len(watchers) == len(set(watchers))  # none of an earlier life is left beside those of this one
        delivery.cancel()


async def test_after_its_end_no_task_of_kopf_is_left(cluster: FakeCluster) -> None:
    async with Embedding() as embedding:
        await embedding.until(1)
        before = {task.get_name() for task in asyncio.all_tasks()}
        assert any("watcher" in name for name in before)
    await asyncio.sleep(0.1)
    left = {task.get_name() for task in asyncio.all_tasks()}
    assert not any("watcher" in name or "worker" in name or "credentials" in name for name in left)


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_end_in_the_middle_of_a_burst_leaves_nothing_for_the_loop_to_close_in_its_own_order(
    monkeypatch: pytest.MonkeyPatch, make_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    complaints: list[str] = []

    async def end_after(count: int) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
        async with serving(FakeCluster(runs=1000), monkeypatch), Embedding() as embedding:
            await embedding.until(count)

    for count in (1, 2, 5, 20, 100, 500, 999):  # a cancelled consumer stands at another place each time
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(end_after(count))
    assert complaints == []


def test_kopf_writes_nothing_handles_raw_events_only_and_its_pauses_never_run_out() -> None:
    settings = kopf_settings()
    assert not settings.posting.enabled
    assert settings.peering.standalone
    assert settings.scanning.disabled
    assert settings.process.ultimate_exiting_timeout is None
    body = kopf.Body({"metadata": {"name": "r-1", "annotations": {"a": "b"}}, "spec": {"x": 1}})
    assert settings.persistence.diffbase_storage.build(body=body) == {}
    assert settings.persistence.diffbase_storage.fetch(body=body) is None
    assert settings.persistence.progress_storage.fetch(key="k", body=body) is None

    registry = kopf_registry(lambda *_: None)
    assert len(list(registry._watching.get_all_handlers())) == len(WATCHED)
    for kind in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert list(kind.get_all_handlers()) == []

    pauses = iter(settings.networking.error_backoffs)
    assert max(next(pauses) for _ in range(1000)) <= 2.0
