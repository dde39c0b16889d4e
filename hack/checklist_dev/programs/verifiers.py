"""Build the programs in other languages that verify and receive deliveries.

The judges of signatures (`tests/signatures/`) use third-party implementations of RFC 9421; those of GitOps and
pipelines use the types of the projects that they judge for. The receivers are `examples/receivers/`.
npm packages are installed next to their sources, Go programs in `.cache/`, each only if out of date.
"""

import argparse
import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checklist_dev.failures import run_tool, say
from checklist_dev.programs import go_build
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder, one_at_a_time
from checklist_dev.system.progress import Report
from checklist_dev.web.node import Node, find_node
from checklist_dev.web.packages import install_packages, packages_are_current

JUDGES = ROOT / "tests" / "signatures"
RECEIVERS = ROOT / "examples" / "receivers"
OIDC_PROVIDER = ROOT / "tests" / "dashboard_auth" / "provider"
GITOPS_JUDGES = ROOT / "tests" / "gitops" / "judges"
PIPELINE_JUDGES = ROOT / "tests" / "pipelines" / "judges"
BUILT = ROOT / ".cache" / "go"


@dataclass(frozen=True, slots=True)
class Programs:
    """Commands to run. Judges read cases as lines of JSON from standard input and write results as lines of JSON."""

    node_judges: tuple[str, ...]
    go_judges: tuple[str, ...]
    node_receiver: tuple[str, ...]
    express_receiver: tuple[str, ...]
    go_receiver: tuple[str, ...]


def make_programs(env: Mapping[str, str] = os.environ, *, report: Report = say) -> Programs:
    """Install and build what is out of date. Raises Failure."""
    cache = cache_folder(env)
    with one_at_a_time(ROOT / ".cache" / "verifiers.lock", "making verifiers and receivers", report):
        node = find_node(cache, env, report=report)
        for folder in (JUDGES / "node", RECEIVERS / "express"):
            _ensure_packages(folder, node, env, report)
        example = RECEIVERS / "go"
        judges = _built("signature-judges", JUDGES / "go", [JUDGES / "go", example], cache, env=env, report=report)
        receiver = _built("example-receiver", example, [example], cache, env=env, report=report)
    program = str(node.program)
    return Programs(
        node_judges=(program, str(JUDGES / "node" / "main.mjs")),
        go_judges=(str(judges),),
        node_receiver=(program, str(RECEIVERS / "node" / "receiver.mjs")),
        express_receiver=(program, str(RECEIVERS / "express" / "receiver.mjs")),
        go_receiver=(str(receiver),),
    )


def make_oidc_provider(env: Mapping[str, str] = os.environ, *, report: Report = say) -> tuple[str, ...]:
    """The command of a third-party OpenID provider, for the sign-in tests. Raises Failure."""
    with one_at_a_time(ROOT / ".cache" / "oidc-provider.lock", "installing the OpenID provider", report):
        node = find_node(cache_folder(env), env, report=report)
        _ensure_packages(OIDC_PROVIDER, node, env, report)
    return (str(node.program), str(OIDC_PROVIDER / "main.mjs"))


def make_gitops_judges(env: Mapping[str, str] = os.environ, *, report: Report = say) -> Path:
    """The program that judges health as Argo CD and Flux do (about three minutes to build). Raises Failure."""
    with one_at_a_time(ROOT / ".cache" / "gitops-judges.lock", "building the judges of GitOps health", report):
        return _built("gitops-judges", GITOPS_JUDGES, [GITOPS_JUDGES], cache_folder(env), env=env, report=report)


def make_pipeline_judges(env: Mapping[str, str] = os.environ, *, report: Report = say) -> Path:
    """The program that judges pipelines as Argo Workflows and Tekton do (some minutes to build). Raises Failure."""
    with one_at_a_time(ROOT / ".cache" / "pipeline-judges.lock", "building the judges of pipelines", report):
        return _built("pipeline-judges", PIPELINE_JUDGES, [PIPELINE_JUDGES], cache_folder(env), env=env, report=report)


def _ensure_packages(folder: Path, node: Node, env: Mapping[str, str], report: Report) -> None:
    if not packages_are_current(folder):
        install_packages(folder, folder.relative_to(ROOT).as_posix(), node, env, report)


def _built(
    name: str, module: Path, sources: Sequence[Path], cache: Path, *, env: Mapping[str, str], report: Report
) -> Path:
    """The program, rebuilt if `sources` have changed: its name contains their digest."""
    program = BUILT / f"{name}-{_digest(sources)}"
    if not program.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        for older in BUILT.glob(f"{name}-*"):
            older.unlink()
        made = BUILT / f".{name}"
        what = f"{module.relative_to(ROOT).as_posix()} (about half a minute)"
        go_build.build_program(module, ".", made, what, cache, env=env, report=report)
        shutil.move(made, program)
    return program


def _digest(folders: Sequence[Path]) -> str:
    sum_ = hashlib.sha256()
    for folder in folders:
        for path in sorted([*folder.rglob("*.go"), *folder.glob("go.*")]):
            content = path.read_bytes()
            sum_.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return sum_.hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.programs.verifiers", description=__doc__)
    parser.add_argument("only", nargs="?", choices=["pipelines"], help="only the judges of pipelines")
    if parser.parse_args().only:
        make_pipeline_judges()
        return 0
    make_programs()
    make_oidc_provider()
    make_gitops_judges()
    return 0


if __name__ == "__main__":
    run_tool(main)
