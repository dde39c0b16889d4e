"""Doubles of the cluster: one that is never asked, and one that an aiohttp application plays."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from aiohttp import web

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.kinds import Kind


class _NoCluster:
    def places(self, kind: Kind, namespace: str | None = None) -> tuple[str | None, ...]:
        return (namespace,)


NO_CLUSTER = cast(KubeClient, _NoCluster())


@asynccontextmanager
async def played_cluster(application: web.Application, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Until the block ends, every KubeConnection that is loaded leads to the application."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    connection = KubeConnection(f"http://127.0.0.1:{runner.addresses[0][1]}", None, dict)

    async def load() -> KubeConnection:
        return connection

    monkeypatch.setattr(KubeConnection, "load", load)
    try:
        yield
    finally:
        await runner.cleanup()
