"""Fixtures of the tests that run an operator against the shared control plane, each in a namespace of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.controlplane import ControlPlane


@pytest_asyncio.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as made:
        yield made


@pytest_asyncio.fixture
async def lab(client: KubeClient, namespace: str) -> Lab:
    """An organization with a template, in a namespace that nobody else uses."""
    made = Lab(client, namespace)
    await made.prepare()
    return made


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.start()
    yield made
    await made.stop()


@pytest_asyncio.fixture
async def operator(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[OperatorProcess]:
    """A leading operator of the namespace. The test fails if it logged an error."""
    made = OperatorProcess(tmp_path, control_plane.kubeconfig, namespace)
    await made.start()
    yield made
    await made.stop()
    assert '"level": "error"' not in made.output, made.output[-4000:]
