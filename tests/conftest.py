"""What all tests share: one throw-away control plane for the session, and namespaces of their own in it.

It is started only when a test asks for it; unit tests run without. So is the build of the web app.
"""

import os
import signal
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from checklist_dev.failures import say
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.programs.s3_server import S3Server, s3_server
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder
from checklist_dev.web.build import Workspace

# No test is about how fast the machine is, and it may be busy with the others.
settings.register_profile("of any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("of any speed")


VERIFY: Final = (
    # What a machine does at random, at each step, for long, or next to others: killed, replaced, hostile, under load.
    "bench/test_bench_smoke.py",
    "soak/test_soak_short.py",
    "chart/node/",
    "crash/test_delivery_enumeration.py",
    "crash/test_chaos_short.py",
    "crash/test_upgrade.py",
    "crash/test_takeovers.py",
    "crash/test_cluster_down.py",
    "crash/test_erasure_cuts.py",
    "crash/test_archive_cuts.py",
    "crash/test_bulk_replay_cuts.py",
    "crash/test_quota_boundary.py",
    "replicas/test_api_replicas.py",
    "delivery/test_hostile_memory.py",
    "cluster/delivery/test_bulk_replay_fairness.py",
    "cluster/development/test_make_run.py",
    "cluster/operation/test_survival.py",
    "backup/test_everything.py",
    "contract/runs/test_limits_memory.py",
    "contract/photos/test_own_process.py",
    "contract/clients/",
    "generation/test_small_model.py",
    # The chart: rendered in every way, installed on a real API server, with the rights of every role.
    "chart/rbac/",
    "chart/install/",
    "chart/render/",
    "pipelines/",
    "gitops/test_examples_are_valid.py",
    # The browser matrix: every state, device, theme and language.
    "dashboard/test_every_page.py",
    "dashboard/test_live_pages.py",
    "dashboard/test_path_prefix.py",
    "dashboard/test_settings_usage_audit.py",
    "dashboard/test_templates_editing.py",
    "dashboard/test_templates_list.py",
    "browser/test_accessibility.py",
    "browser/test_large_photos.py",
    "browser/test_member_runs.py",
    "browser/test_offline_app.py",
    "browser/test_offline_ends.py",
    "browser/test_web_dev.py",
)
"""Files and folders that `make verify` runs and `make test` leaves out, the longest first (docs/development.md).

A single test elsewhere is one of them with `@pytest.mark.verify`.
"""

_BEGUN_FIRST: Final = (
    *VERIFY,
    "dashboard/test_deliveries.py",
    "browser/test_checklist_controls.py",
    "browser/test_checklist_flow.py",
    "contract/templates/test_generate.py",
    "cluster/photos/test_operator.py",
    "cluster/delivery/test_events.py",
    "backup/test_backup.py",
    "contract/runs/test_dispatch_many.py",
    "contract/runs/test_archived_runs.py",
)
"""Begun last, a file that takes a minute would be waited for alone."""


def _suite(file: Path) -> str:
    """What one process takes as a whole: a file, but of `tests/chart/node` the folder, since there is one node."""
    name = file.relative_to(ROOT / "tests").as_posix()
    return "chart/node/" if name.startswith("chart/node/") else name


def _place(file: Path, order: Sequence[str]) -> int | None:
    name = file.relative_to(ROOT / "tests").as_posix()
    return next((place for place, part in enumerate(order) if name.startswith(part)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make verify` runs, and put what takes long first (with xdist's `--no-loadscope-reorder`)."""
    for item in items:
        if _place(item.path, VERIFY) is not None:
            item.add_marker(pytest.mark.verify)
    places = {path: _place(path, _BEGUN_FIRST) for path in {item.path for item in items}}
    items.sort(key=lambda item: len(_BEGUN_FIRST) if (place := places[item.path]) is None else place)


class _BySuite(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return _suite(ROOT / nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _BySuite:
    return _BySuite(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests of the whole service wait for a part of their time."""
    return min((os.cpu_count() or 1) + 1, 8)


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


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """SIGINT interrupts this process and those that it starts.

    A shell ignores SIGINT in background jobs, and child processes inherit that: a test run in the background could not
    interrupt any program.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
