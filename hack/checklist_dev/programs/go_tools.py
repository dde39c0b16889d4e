"""Finds helm, promtool and Prometheus for the chart, versitygw for photos, and krew's validator: `python -m
checklist_dev.programs.go_tools` prints their paths.

Each comes from PATH if its version fits, else from the user's cache, where it is built once from its Go modules
(`hack/charttools/`, `hack/promtools/`, `hack/s3server/`, `hack/krew/`), so that Python is the only requirement for the
tests of the chart, its alerts, photos in S3 and the krew manifest.
"""

import argparse
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev.failures import run_tool, say
from checklist_dev.programs import go_build
from checklist_dev.repository import HACK
from checklist_dev.system.cache import cache_folder, machine, made_once, version_in

MODULE: Final = HACK / "charttools"
PROM_MODULE: Final = HACK / "promtools"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, its module, and how to query its version."""

    name: str
    module: str
    package: str
    version_arguments: tuple[str, ...] | None
    """None: any version on PATH is accepted."""
    takes: str
    """Build time on two cores."""
    folder: Path = MODULE
    """The folder of the go.mod that pins it."""
    stamp: str = ""
    """The linker variable for the version, which would otherwise be wrong."""
    tags: tuple[str, ...] = ()


def _of_prometheus(name: str, takes: str) -> Tool:
    """A program of Prometheus without service discovery, which is most of the build and unused here."""
    return Tool(
        name,
        "github.com/prometheus/prometheus",
        f"github.com/prometheus/prometheus/cmd/{name}",
        ("--version",),
        takes,
        folder=PROM_MODULE,
        stamp="github.com/prometheus/common/version.Version={version}",
        tags=("remove_all_sd",),
    )


HELM: Final = Tool(
    "helm",
    "helm.sh/helm/v4",
    "helm.sh/helm/v4/cmd/helm",
    ("version", "--short"),
    "about two minutes",
    stamp="helm.sh/helm/v4/internal/version.version=v{version}",
)
PROMTOOL: Final = _of_prometheus("promtool", "about three minutes")
PROMETHEUS: Final = _of_prometheus("prometheus", "half a minute after promtool")
S3_SERVER: Final = Tool(
    "versitygw",
    "github.com/versity/versitygw",
    "github.com/versity/versitygw/cmd/versitygw",
    None,
    "about a minute",
    folder=HACK / "s3server",
)
KREW_VALIDATOR: Final = Tool(
    "validate-krew-manifest",
    "sigs.k8s.io/krew",
    "sigs.k8s.io/krew/cmd/validate-krew-manifest",
    None,
    "about a minute",
    folder=HACK / "krew",
)
TOOLS: Final = {tool.name: tool for tool in (HELM, PROMTOOL, PROMETHEUS, S3_SERVER, KREW_VALIDATOR)}


def find_tool(tool: Tool, env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Path:
    """The program in the pinned version. Raises Failure if there is none and none can be made."""
    pinned = pinned_version(tool)
    found = shutil.which(tool.name, path=env.get("PATH", ""))
    if found and _says(Path(found), tool, pinned):
        return Path(found)
    system, architecture = machine()
    cache = cache_folder(env)
    # The cache keeps the name that earlier versions used for the S3 server.
    name = "s3server" if tool is S3_SERVER else tool.name
    flags = "-s -w" + (f" -X {tool.stamp.format(version=pinned)}" if tool.stamp else "")

    def build(made: Path) -> None:
        go_build.build_program(
            tool.folder,
            tool.package,
            made / tool.name,
            f"{tool.name} {pinned} ({tool.takes})",
            cache,
            linker_flags=flags,
            tags=tool.tags,
            env=env,
            report=report,
        )

    folder = cache / f"{name}-{pinned}-{system}-{architecture}"
    return made_once(folder, f"building {tool.name}", build, report) / tool.name


def pinned_version(tool: Tool) -> str:
    """The version in go.mod, without the `v`."""
    version = version_in(tool.folder / "go.mod", f"{re.escape(tool.module)} v")
    if tool.folder != PROM_MODULE:
        return version
    # Prometheus 3.13.5 is the Go module v0.313.5, which makes no promise as a library.
    minor, patch = re.fullmatch(r"0\.3(\d\d)\.(\S+)", version).groups()  # type: ignore[union-attr]
    return f"3.{int(minor)}.{patch}"


def _says(program: Path, tool: Tool, version: str) -> bool:
    """Whether the program has exactly this version, since others render, lint or judge differently."""
    if tool.version_arguments is None:
        return True
    command: list[str | Path] = [program, *tool.version_arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", answer) is not None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.programs.go_tools", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(TOOLS)} (default: all)")
    names = parser.parse_args().names or list(TOOLS)
    for name in names:
        print(f"{name:22} {find_tool(TOOLS[name])}")
    return 0


if __name__ == "__main__":
    run_tool(main)
