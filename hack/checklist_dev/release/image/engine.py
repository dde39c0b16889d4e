"""One interface to docker, podman and buildah."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT
from checklist_dev.system.progress import Report, run_with_progress

NAMES: Final = ("docker", "podman", "buildah")
# All files have time 0, so that a layer with the same contents keeps its digest and is not transferred again. The time
# of the sources is in a label.
_TIMELESS: Final = ("--timestamp", "0")


@dataclass(frozen=True, slots=True)
class Build:
    """Parameters of a build. `secrets`: files by id. `clean`: build without cache."""

    containerfile: Path
    context: Path
    tag: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Path] = field(default_factory=dict)
    clean: bool = False


@dataclass(frozen=True, slots=True)
class Engine:
    """`name` is one of NAMES, `program` its path."""

    name: str
    program: Path
    log: Path

    def build(self, build: Build, what: str, report: Report) -> None:
        """Build an image; the output goes to the log. Raises Failure."""
        words = [str(self.program), *self._verb(), *(("--no-cache",) if build.clean else ())]
        for key, value in build.arguments.items():
            words += ["--build-arg", f"{key}={value}"]
        for name, path in build.secrets.items():
            words += ["--secret", f"id={name},src={path}"]
        words += ["--tag", build.tag, "--file", str(build.containerfile), str(build.context)]
        self._run(words, what, report)

    def save(self, tag: str, output: Path, report: Report) -> None:
        """Write an archive for `docker load`, `podman load` and `ctr images import`. Raises Failure."""
        output.unlink(missing_ok=True)
        verb = ["save", "--output", str(output), tag]
        if self.name == "podman":
            verb.insert(1, "--format=oci-archive")
        elif self.name == "buildah":
            verb = ["push", "--quiet", tag, f"oci-archive:{output}:{tag}"]
        self._run([str(self.program), *verb], f"{tag} could not be written to {output}", report)

    def has(self, tag: str) -> bool:
        """Whether the engine has an image of this name."""
        form = ["inspect", "--type", "image", tag]
        return subprocess.run([self.program, *form], capture_output=True, check=False).returncode == 0

    def _verb(self) -> list[str]:
        if self.name == "buildah":
            # Without separate namespaces for each command, which also works in containers and CI.
            isolation = os.environ.get("BUILDAH_ISOLATION", "chroot")
            return ["build", "--layers", "--isolation", isolation, "--format", "oci", *_TIMELESS]
        if self.name == "podman":
            return ["build", "--format", "oci", *_TIMELESS]
        return ["build", "--load"] if self._has_buildx() else ["build"]

    def _has_buildx(self) -> bool:
        return subprocess.run([self.program, "buildx", "version"], capture_output=True, check=False).returncode == 0

    def _run(self, words: Sequence[str], what: str, report: Report) -> None:
        env = {**os.environ, "DOCKER_BUILDKIT": "1"}
        code, lines = run_with_progress(list(words), ROOT, env, "lines", report)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as file:
            file.write(" ".join(words) + "\n" + "\n".join(lines) + "\n")
        if code != 0:
            reason = next(
                (line for line in reversed(lines) if "rror" in line), lines[-1] if lines else f"status {code}"
            )
            raise Failure(f"{what}: {reason.strip()} (see {self.log})")


def find_engine(log: Path, wanted: str = "") -> Engine | None:
    """The engine `wanted`, else the first that works; docker needs a running daemon."""
    for name in (wanted,) if wanted else NAMES:
        program = shutil.which(name)
        if program and (name != "docker" or _answers(program)):
            return Engine(name, Path(program), log)
    return None


def _answers(docker: str) -> bool:
    try:
        return subprocess.run([docker, "info"], capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
