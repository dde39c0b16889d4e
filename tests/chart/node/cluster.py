"""A cluster with real nodes, from wherever one can be had. The tests see `kubectl` and `helm`, and no more.

In this order: the cluster of CHECKLISTS_TEST_KUBECONFIG, one of kind where Docker is, and the one-node cluster of the
command in CHECKLISTS_TEST_NODE (`up`, `down`, `load ARCHIVE`, `exec -- COMMAND`). Nothing is asked of a pod but from
within the cluster: the way in differs too much.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import eventually_sync

from checklist_dev.programs.binaries import cached_kubectl
from checklist_dev.programs.go_tools import HELM, find_tool
from checklist_dev.release.image.engine import find_engine
from checklist_dev.repository import ROOT

PYTEST_KIND = "pytest-kind==22.11.1"


class NoCluster(Exception):
    """None can be had; the message says why, in one line."""


class CommandFailed(Exception):
    """kubectl or helm said no; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """`source` says where it comes from; `prefix` stands before each command."""

    source: str
    load: Callable[[Path], None]
    prefix: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, *words: str, stdin: str = "", timeout_s: float = 300) -> str:
        """What it printed. Raises CommandFailed."""
        answer = subprocess.run(
            [*self.prefix, *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            env={**os.environ, **self.env},
            cwd=ROOT,
        )
        if answer.returncode != 0:
            raise CommandFailed(f"{' '.join(words)[:300]}: {answer.stderr.strip() or answer.stdout.strip()}")
        return answer.stdout

    def kubectl(self, *words: str, stdin: str = "", timeout_s: float = 300) -> str:
        kubectl = "kubectl" if self.prefix else str(cached_kubectl())
        return self.run(kubectl, *words, stdin=stdin, timeout_s=timeout_s)

    def helm(self, *words: str, timeout_s: float = 600) -> str:
        """The pinned one, where the cluster does not bring its own."""
        helm = "helm" if self.prefix else str(find_tool(HELM))
        return self.run(helm, *words, timeout_s=timeout_s)

    def get(self, *words: str) -> dict[str, Any]:
        """One object, or a list of them, as the API has it."""
        found = json.loads(self.kubectl("get", *words, "-o", "json"))
        assert isinstance(found, dict)
        return found

    def apply(self, *documents: Mapping[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))

    def wait_until(self, holds: Callable[[], bool], what: str, *, within_s: float = 90) -> None:
        """Asks once in half a second. Fails the test with `what` did not come about."""
        try:
            eventually_sync(holds, within_s=within_s, every_s=0.5)
        except AssertionError as failed:
            raise AssertionError(f"{what}: {failed}") from None

    @contextmanager
    def namespace(self, name: str) -> Iterator[str]:
        """With restricted Pod Security, enforced; it is gone, and all that was in it, when the block has ended."""
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        try:
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=true", "--timeout=120s", timeout_s=150)


@contextmanager
def any_cluster(env: Mapping[str, str], folder: Path) -> Iterator[Cluster]:
    """Raises NoCluster."""
    if kubeconfig := env.get("CHECKLISTS_TEST_KUBECONFIG"):
        yield Cluster(f"the cluster of {kubeconfig}", _cannot_load, env={"KUBECONFIG": kubeconfig})
    elif _docker_works():
        with _kind(folder) as cluster:
            yield cluster
    elif node := env.get("CHECKLISTS_TEST_NODE"):
        with _node(Path(node)) as cluster:
            yield cluster
    else:
        raise NoCluster(
            "no cluster with a node: CHECKLISTS_TEST_KUBECONFIG is not set, Docker does not work here (for kind), "
            "and CHECKLISTS_TEST_NODE is not set"
        )


def _cannot_load(archive: Path) -> None:
    raise NoCluster(
        f"there is no way to load {archive.name} into a given cluster: push it, and name it in CHECKLISTS_TEST_IMAGE"
    )


def _docker_works() -> bool:
    return find_engine(Path(os.devnull), "docker") is not None


@contextmanager
def _kind(folder: Path) -> Iterator[Cluster]:
    """pytest-kind fetches kind and kubectl. It is of use only where Docker is, so no lock file has it."""
    packages = ROOT / ".cache" / "pytest-kind"
    if not packages.is_dir():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages), PYTEST_KIND]
        subprocess.run(words, check=True)
    sys.path.append(str(packages))
    from pytest_kind import KindCluster  # type: ignore[import-not-found, unused-ignore]

    kind = KindCluster("checklist-dispatch-tests", folder / "kubeconfig")
    kind.create()

    def load(archive: Path) -> None:
        subprocess.run([kind.kind_path, "load", "image-archive", archive, "--name", kind.name], check=True)

    try:
        yield Cluster("kind", load, env={"KUBECONFIG": str(kind.kubeconfig_path)})
    finally:
        kind.delete()


@contextmanager
def _node(program: Path) -> Iterator[Cluster]:
    """One that is up already is used as it is, and stays up."""
    if not program.is_file():
        raise NoCluster(f"CHECKLISTS_TEST_NODE names {program}, which is not there")
    words = ["bash", str(program.resolve())]
    was_up = subprocess.run([*words, "exec", "--", "true"], capture_output=True, check=False).returncode == 0
    if not was_up:
        started = subprocess.run([*words, "up"], capture_output=True, text=True, check=False)
        if started.returncode != 0:
            raise NoCluster(f"{program} up: {(started.stderr.strip().splitlines() or ['it said nothing'])[-1]}")

    def load(archive: Path) -> None:
        subprocess.run([*words, "load", str(archive)], check=True, capture_output=True)

    try:
        yield Cluster(f"the node of {program}", load, prefix=(*words, "exec", "--"))
    finally:
        if not was_up:
            subprocess.run([*words, "down"], check=True, capture_output=True)
