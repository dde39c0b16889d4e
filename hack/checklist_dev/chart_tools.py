"""helm, promtool and Prometheus, for the chart. `python -m checklist_dev.chart_tools` says where they are.

Each comes from PATH when its version fits, else from the user's cache, where it is built once from its Go modules
(`hack/charttools/`, `hack/promtools/`): a machine with nothing but Python can lint, render and install the chart, and
try its alerts.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev import go_build
from checklist_dev.binaries import cache_folder, machine
from checklist_dev.failures import Failure, say
from checklist_dev.locks import one_at_a_time

_HACK: Final = Path(__file__).resolve().parent.parent
MODULE: Final = _HACK / "charttools"
PROM_MODULE: Final = _HACK / "promtools"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, its module, and how it is asked for its version."""

    name: str
    module: str
    package: str
    version_arguments: tuple[str, ...]
    takes: str
    """How long its build takes on two cores."""
    folder: Path = MODULE
    """With the go.mod that pins it."""
    stamp: str = ""
    """The variable that the linker puts the version into; without it the program calls itself something else."""
    tags: tuple[str, ...] = ()


def _of_prometheus(name: str, takes: str) -> Tool:
    """Without service discovery, which is most of the build and none of its use here."""
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
TOOLS: Final = (HELM, PROMTOOL, PROMETHEUS)


def find_tool(tool: Tool, env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Path:
    """The program, of the pinned version. Raises Failure when there is none and none can be made."""
    pinned = pinned_version(tool)
    found = shutil.which(tool.name, path=env.get("PATH", ""))
    if found and _says(Path(found), tool, pinned):
        return Path(found)
    system, architecture = machine()
    cache = cache_folder(env)
    program = cache / f"{tool.name}-{pinned}-{system}-{architecture}" / tool.name
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(cache / f"{program.parent.name}.lock", f"building {tool.name}", report):
            if not program.exists():
                _build(tool, program, version=pinned, env=env, report=report)
    return program


def pinned_version(tool: Tool) -> str:
    """Without the `v`, from go.mod, the one place that names it."""
    file = tool.folder / "go.mod"
    found = re.search(rf"^\s*{re.escape(tool.module)} v(\S+)", file.read_text(), re.MULTILINE)
    if not found:
        raise Failure(f"{file} does not name {tool.module}")
    if tool.folder != PROM_MODULE:
        return found[1]
    # Prometheus 3.13.5 is the Go module v0.313.5: a library that promises nothing.
    minor, patch = re.fullmatch(r"0\.3(\d\d)\.(\S+)", found[1]).groups()  # type: ignore[union-attr]
    return f"3.{int(minor)}.{patch}"


def _says(program: Path, tool: Tool, version: str) -> bool:
    """Whether the program at hand is of that very version: another renders, lints or judges differently."""
    command: list[str | Path] = [program, *tool.version_arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", answer) is not None


def _build(tool: Tool, program: Path, *, version: str, env: Mapping[str, str], report: Callable[[str], None]) -> None:
    """In a folder beside it, then renamed: a folder that exists is complete."""
    cache = program.parent.parent
    for abandoned in cache.glob(program.parent.name + ".tmp-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=program.parent.name + ".tmp-", dir=cache))
    flags = "-s -w" + (f" -X {tool.stamp.format(version=version)}" if tool.stamp else "")
    try:
        go_build.build_program(
            tool.folder,
            tool.package,
            made / tool.name,
            f"{tool.name} {version} ({tool.takes})",
            cache,
            linker_flags=flags,
            tags=tool.tags,
            env=env,
            report=report,
        )
        made.chmod(0o755)
        made.rename(program.parent)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def main() -> int:
    argparse.ArgumentParser(prog="python -m checklist_dev.chart_tools", description=__doc__).parse_args()
    try:
        for tool in TOOLS:
            print(f"{tool.name:12} {find_tool(tool)}")
    except Failure as failure:
        print(f"chart_tools: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
