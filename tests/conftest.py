"""What all tests share: one throw-away control plane for the session, and namespaces of their own in it.

It is started only when a test asks for it; unit tests run without. So is the build of the web app.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from checklist_dev.binaries import cache_folder
from checklist_dev.controlplane import ControlPlane
from checklist_dev.crd_install import install_crds
from checklist_dev.failures import say
from checklist_dev.kubectl import Kubectl
from checklist_dev.repository import ROOT
from checklist_dev.s3_server import S3Server, s3_server
from checklist_dev.web.build import Workspace

# No test is about how fast the machine is, and it may be busy with the others.
settings.register_profile("of any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("of any speed")


_LONGEST_FIRST: Final = (
    "bench/test_bench_smoke.py",
    "soak/test_soak_short.py",
    "crash/test_delivery_enumeration.py",
    "crash/test_chaos_short.py",
    "dashboard/test_deliveries.py",
    "crash/test_erasure_cuts.py",
    "replicas/test_consistency.py",
    "crash/test_takeovers.py",
    "delivery/test_hostile_memory.py",
    "crash/test_cluster_down.py",
    "chart_rbac/test_every_verb.py",
    "generation/test_small_model.py",
)
"""Of the files that take a minute or more. A file goes to one process as a whole: begun last, such a one is waited for
alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The order in which processes take files (with xdist's `--no-loadscope-reorder`)."""
    places = {ROOT / "tests" / name: place for place, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def web_app() -> Path:
    """The folder of the built executor app; it is built now if its sources have changed."""
    workspace = Workspace(ROOT, cache=cache_folder(), report=say)
    workspace.ensure_built()
    return workspace.built / "executor"


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real kube-apiserver and etcd with the project's CRDs; its data ends with the session."""
    folder: Path = tmp_path_factory.mktemp("cluster")
    with ControlPlane(folder, ephemeral=True) as cluster:
        install_crds(cluster.run_kubectl)
        yield cluster


@pytest.fixture(scope="session")
def kubectl(control_plane: ControlPlane) -> Kubectl:
    """`kubectl("get", "runs", "-n", namespace)` returns its output, and raises Failure with its error."""
    return control_plane.run_kubectl


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server with a bucket."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def namespace(kubectl: Kubectl) -> str:
    """A namespace that no other test knows. (Nothing deletes it: that takes a controller manager.)"""
    name = f"test-{uuid.uuid4().hex[:12]}"
    kubectl("create", "namespace", name)
    return name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--snapshots", choices=("compare", "write"), default="compare", help="of what the chart renders")
