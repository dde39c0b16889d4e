"""The lease has a connection of its own, and is given back as soon as a term sends nothing more."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest
from aiohttp import web
from tests.unit.no_cluster import played_cluster
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.kinds import RUN
from checklist_operator import __main__ as operator_main
from checklist_operator.handover import HANDOVER_ANNOTATION, AttemptMade, Handover, read_note
from checklist_operator.settings import LeaseTimes, Settings

LEFT = {"evt-0b0f6f5e-8d5c-4d0c-9a55-2f4f0d1c9a11": AttemptMade(2, 10.0)}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


class _ClusterThatOnlyKnowsLeases:
    """Leases are answered at once, everything else never."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.renewals = 0
        self.hanging = 0
        self.application = web.Application()
        self.application.router.add_get(LEASES + "/{name}", self._get)
        self.application.router.add_get(LEASES, self._list)
        self.application.router.add_post(LEASES, self._put)
        self.application.router.add_put(LEASES + "/{name}", self._put)
        self.application.router.add_patch(LEASES + "/{name}", self._patch)
        self.application.router.add_route("*", "/{rest:.*}", self._hang)

    async def _get(self, _: web.Request) -> web.Response:
        if self.lease is None:
            return web.json_response({"code": 404, "message": "none"}, status=404)
        return web.json_response(self.lease)

    async def _list(self, _: web.Request) -> web.Response:
        return web.json_response({"items": [self.lease] if self.lease else [], "metadata": {}})

    async def _put(self, request: web.Request) -> web.Response:
        self.lease = await request.json()
        self.renewals += 1
        self.lease["metadata"]["resourceVersion"] = str(self.renewals)
        return web.json_response(self.lease)

    async def _patch(self, request: web.Request) -> web.Response:
        assert self.lease is not None
        patch = await request.json()
        self.lease["spec"] |= patch["spec"]
        self.lease["metadata"] |= patch["metadata"]
        return web.json_response(self.lease)

    @property
    def holder(self) -> str | None:
        return None if self.lease is None else self.lease["spec"]["holderIdentity"]

    async def _hang(self, _: web.Request) -> web.Response:
        self.hanging += 1
        await asyncio.sleep(60)
        raise web.HTTPGatewayTimeout


class _BusyTerm:
    """A term whose work takes every connection that it can get. `on_end` is called before and after it steps down."""

    begun = 0
    is_ready = True
    on_end: ClassVar[Callable[[], None]] = staticmethod(lambda: None)

    def __init__(self, _: Settings, client: KubeClient, *args: Any, **kwargs: Any) -> None:
        type(self).begun += 1
        self._client = client
        self._calls: list[asyncio.Task[Any]] = []

    async def run(self) -> None:
        self._calls = [asyncio.create_task(self._client.get(RUN, f"r-{n}", "checklists")) for n in range(200)]
        await asyncio.Event().wait()

    async def stop(self, *, gracefully: bool, step_down: Callable[[Handover], Awaitable[None]]) -> None:
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        self.on_end()
        await step_down(LEFT)
        self.on_end()


async def test_the_lease_is_renewed_while_all_work_waits_and_is_given_back_with_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = _ClusterThatOnlyKnowsLeases()
    monkeypatch.setattr(operator_main, "Term", _BusyTerm)
    holders: list[str | None] = []
    monkeypatch.setattr(_BusyTerm, "on_end", staticmethod(lambda: holders.append(cluster.holder)))
    key = "A" * 43 + "="
    keys = {"CHECKLISTS_SERVER_KEY": key, "CHECKLISTS_SEALING_KEYS": f"k1:{key}"}
    settings = Settings.from_environment({**keys, "CHECKLISTS_OPERATOR_ID": "test"})
    lease = LeaseTimes(duration=4, renew_deadline=3, retry_period=1)
    operator = operator_main.Operator(settings.model_copy(update={"health_port": 0, "lease": lease}))
    async with played_cluster(cluster.application, monkeypatch):
        serving = asyncio.create_task(operator.run())
        await eventually(lambda: cluster.hanging >= 64)
        # The work has taken all connections: the lease is renewed nevertheless, past the deadline of its holder.
        before = cluster.renewals
        await eventually(lambda: cluster.renewals >= before + 4)
        assert _BusyTerm.begun == 1
        operator.stop()
        await serving
    assert holders == ["test", None]
    assert cluster.lease is not None
    note = cluster.lease["metadata"]["annotations"][HANDOVER_ANNOTATION]
    assert read_note(note) == LEFT
