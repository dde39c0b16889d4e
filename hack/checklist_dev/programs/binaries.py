"""Finds etcd, kube-apiserver and kubectl.

In this order: KUBEBUILDER_ASSETS, PATH (if new enough), the user's cache, the official download, a build from the
official Go modules in `hack/controlplane/`. Downloads and builds are cached by version, so that a second clone reuses
them.

`python -m checklist_dev.programs.binaries` prints their paths. It uses only the standard library, so that
`hack/environment.sh` can run it while packages are being installed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from checklist_dev.failures import run_tool, say
from checklist_dev.programs import go_build
from checklist_dev.programs.download import Unavailable, download_binaries
from checklist_dev.repository import HACK
from checklist_dev.system.cache import cache_folder, machine, made_once, version_in

MODULE = HACK / "controlplane"
NAMES = ("etcd", "kube-apiserver", "kubectl")
OLDEST_KUBERNETES = (1, 34)  # enables selectableFields and streaming initial events by default
OLDEST_ETCD = (3, 5)  # required by kube-apiserver of these versions

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Binaries:
    """Three compatible programs; `source` describes where they come from."""

    etcd: Path
    kube_apiserver: Path
    kubectl: Path
    source: str


@dataclass(frozen=True, slots=True)
class Pinned:
    """The versions in the Go module of `hack/controlplane/`, without the `v`."""

    kubernetes: str
    etcd: str


def pinned_versions(module: Path = MODULE) -> Pinned:
    """The versions in go.mod."""
    file = module / "go.mod"
    return Pinned(version_in(file, "k8s.io/kubernetes v"), version_in(file, "go.etcd.io/etcd/server/v3 v"))


def find_binaries(env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Binaries:
    """The programs of the first place that has them. Raises Failure if there is none and none can be made."""
    for source, path in _places(env):
        etcd, apiserver = (shutil.which(name, path=path) for name in ("etcd", "kube-apiserver"))
        if not etcd or not apiserver:
            continue
        etcd_version, version = program_version(Path(etcd)), program_version(Path(apiserver))
        if version is None or version < OLDEST_KUBERNETES or etcd_version is None or etcd_version < OLDEST_ETCD:
            report(f"kube-apiserver and etcd from {source} are too old or do not run: trying the next place")
            continue
        kubectl = _fitting_kubectl(env, version) or _cached(env, report).kubectl
        return Binaries(Path(etcd), Path(apiserver), kubectl, source)
    return _cached(env, report)


def cached_kubectl(env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Path:
    """The kubectl of the pinned version, downloaded or built if it is not cached."""
    return _cached(env, report).kubectl


def program_version(program: Path) -> Version | None:
    """(major, minor) as printed by the program, or None."""
    flags = ["version", "--client", "-o", "json"] if program.name == "kubectl" else ["--version"]
    try:
        answer = subprocess.run([program, *flags], capture_output=True, text=True, timeout=20, check=False).stdout
        if program.name == "kubectl":
            answer = str(json.loads(answer)["clientVersion"]["gitVersion"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None
    found = re.search(r"v?(\d+)\.(\d+)\.\d+", answer)
    return (int(found[1]), int(found[2])) if found else None


def _places(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if assets := env.get("KUBEBUILDER_ASSETS"):
        yield f"KUBEBUILDER_ASSETS ({assets})", assets
    if path := env.get("PATH"):
        yield "PATH", path


def _fitting_kubectl(env: Mapping[str, str], server: Version) -> Path | None:
    """A kubectl that is at most one minor version older or newer than the server."""
    for _, path in _places(env):
        if kubectl := shutil.which("kubectl", path=path):
            version = program_version(Path(kubectl))
            if version and version[0] == server[0] and abs(version[1] - server[1]) <= 1:
                return Path(kubectl)
    return None


def _cached(env: Mapping[str, str], report: Callable[[str], None]) -> Binaries:
    pinned = pinned_versions()
    system, architecture = machine()
    cache = cache_folder(env)
    folder = cache / f"controlplane-{pinned.kubernetes}-etcd-{pinned.etcd}-{system}-{architecture}"

    def make(made: Path) -> None:
        try:
            download_binaries(made, pinned.kubernetes, pinned.etcd, system, architecture, env=env, report=report)
        except Unavailable as reason:
            report(f"no official binaries ({reason}): building them from the Go modules, once for this user")
            go_build.build(MODULE, made / "controlplane", pinned.kubernetes, cache, env=env, report=report)
            for name in NAMES:  # one binary, which acts by its name
                (made / name).symlink_to("controlplane")

    made_once(folder, "fetching the control plane", make, report)
    return Binaries(folder / "etcd", folder / "kube-apiserver", folder / "kubectl", f"the cache ({folder})")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.programs.binaries",
        description="Find, download or build etcd, kube-apiserver and kubectl.",
    )
    parser.parse_args()
    found = find_binaries()
    print(f"from            {found.source}")
    print(f"etcd            {found.etcd}\nkube-apiserver  {found.kube_apiserver}\nkubectl         {found.kubectl}")
    return 0


if __name__ == "__main__":
    run_tool(main)
