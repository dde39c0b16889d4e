"""What the client makes of answers that do not come."""

import pytest
from aiohttp import web

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.kube.kinds import RUN

from .no_cluster import played_cluster


async def failure_of(method: str) -> type[BaseException]:
    async with KubeClient(await KubeConnection.load()) as client:
        with pytest.raises(KubeUnavailable) as caught:
            await (client.get(RUN, "r-1", "ns") if method == "GET" else client.patch(RUN, "r-1", {}, "ns"))
    return caught.type


async def test_a_write_that_was_sent_and_not_answered_may_have_been_done(monkeypatch: pytest.MonkeyPatch) -> None:
    status: int | None = None

    async def answer(request: web.Request) -> web.Response:
        if status is None and request.transport is not None:
            request.transport.abort()
        return web.json_response({"message": "no"}, status=status or 200)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with played_cluster(application, monkeypatch):
        for status, of_a_write in ((None, KubeOutcomeUnknown), (504, KubeOutcomeUnknown), (503, KubeUnavailable)):
            assert (await failure_of("PATCH"), await failure_of("GET")) == (of_a_write, KubeUnavailable), status
    assert await failure_of("PATCH") is KubeUnavailable, "nobody takes the connection: nothing was sent"
