"""The client of the cluster: answers that do not come, and a token that the kubelet replaces."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from kubernetes.aio.config import incluster_config
from pydantic import ValidationError
from tests.unit.kube.memory_cluster import played_cluster

from checklist_crds.kube import client
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeOutcomeUnknown, KubeUnavailable
from checklist_crds.resources.kinds import RUN, TEMPLATE
from checklist_crds.resources.run import RunSpec
from checklist_dev.local.certificates import credentials_in


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
    assert await failure_of("PATCH") is KubeUnavailable, "the connection is refused: nothing was sent"


class _Clock(datetime):
    """A wall clock that the test sets."""

    ahead = timedelta()

    @classmethod
    def now(cls, tz: object = None) -> "datetime":  # type: ignore[override]
        return datetime.now() + cls.ahead


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that holds the token; the process believes to be in a pod."""
    (file := tmp_path / "token").write_text("token-of-the-first-hour")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(client, "_SERVICE_ACCOUNT", file)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(file))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(credentials_in(tmp_path / "tls").authority))
    monkeypatch.setattr(_Clock, "ahead", timedelta())
    monkeypatch.setattr(incluster_config.datetime, "datetime", _Clock)
    return file


def _bearer(connection: KubeConnection) -> str:
    return connection.headers()["Authorization"].partition(" ")[2]


async def test_replaced_tokens_are_used_within_a_minute(token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = await KubeConnection.load()
    assert _bearer(connection) == "token-of-the-first-hour"
    for minute, unreadable in enumerate((token.unlink, lambda: token.write_text("")), start=1):
        unreadable()
        monkeypatch.setattr(_Clock, "ahead", timedelta(seconds=61 * minute))
        assert _bearer(connection) == "token-of-the-first-hour", "the old one stays in use"
    token.write_text("token-of-the-second-hour")
    assert _bearer(connection) == "token-of-the-second-hour"
    token.write_text("token-of-the-third-hour")
    monkeypatch.setattr(_Clock, "ahead", timedelta(seconds=61 * 4))
    assert _bearer(connection) == "token-of-the-third-hour"


async def test_only_a_read_is_sent_again_after_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        received.append(request.method)
        if len(received) == 2 and request.transport is not None:  # on a kept connection
            request.transport.abort()
        return web.json_response(RUN.manifest("r-1", "home", {}))

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with played_cluster(application, monkeypatch), KubeClient(await KubeConnection.load()) as kube:
        body = await kube.get(RUN, "r-1", "home")
        assert await kube.get(RUN, "r-1", "home") == body
        assert received == ["GET"] * 3
        for write in (lambda: kube.replace(RUN, body), lambda: kube.delete(RUN, "r-1", "home")):
            received[:] = []
            await kube.get(RUN, "r-1", "home")
            with pytest.raises(KubeOutcomeUnknown):
                await write()
            assert len(received) == 2


def test_a_name_from_a_user_is_no_part_of_a_path_or_query() -> None:
    assert (
        TEMPLATE.path("team-a", "?watch=true") == "/apis/checklists.dev/v1/namespaces/team-a/templates/%3Fwatch%3Dtrue"
    )
    assert RUN.path("a/b", "../c", "status") == "/apis/checklists.dev/v1/namespaces/a%2Fb/runs/..%2Fc/status"
    for name in ("?watch=true", "../c", ""):
        with pytest.raises(ValidationError):
            RunSpec.model_validate({"templateId": name})
