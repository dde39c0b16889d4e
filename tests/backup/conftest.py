"""Two clusters for the tests of backups, each with the stores of an installation."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.cluster.conftest import receiver
from tests.cluster.operator_lab import SEALING_KEYS, SERVER_KEY

from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.local.controlplane import ControlPlane

from .lab import Site, clear, make_namespace, planes

__all__ = ["receiver"]


@pytest.fixture(scope="module")
def source_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    yield from planes(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def target_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    yield from planes(tmp_path_factory.mktemp("target"))


async def _site(plane: ControlPlane, namespace: str, folder: Path) -> AsyncIterator[Site]:
    folder.mkdir()
    async with KubeClient(await KubeConnection.load(str(plane.kubeconfig))) as kube:
        await clear(kube)  # of the test before
        await make_namespace(kube, namespace)
        yield Site(plane, kube, namespace, folder, SERVER_KEY, SEALING_KEYS)


@pytest.fixture
def home() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def source(source_plane: ControlPlane, home: str, tmp_path: Path) -> AsyncIterator[Site]:
    async for site in _site(source_plane, home, tmp_path / "source"):
        yield site


@pytest.fixture
async def target(target_plane: ControlPlane, home: str, tmp_path: Path) -> AsyncIterator[Site]:
    async for site in _site(target_plane, home, tmp_path / "target"):
        yield site


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "backup").as_uri()
