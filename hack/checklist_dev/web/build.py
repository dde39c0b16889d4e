"""Builds `api/web/` into `api/checklist_api/web_dist/` if the sources have changed.

Built files are never committed. A digest of the sources is stored with them; if it matches, no Node is needed.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from checklist_dev.failures import Failure
from checklist_dev.system.cache import one_at_a_time
from checklist_dev.system.progress import Report, run_with_progress
from checklist_dev.web.node import Node, find_node
from checklist_dev.web.packages import install_packages, packages_are_current, reason_of

STAMP = "sources.sha256"
SURFACES = ("executor", "dashboard")
# No built file depends on these: the lock file identifies packages, and tests and their helpers are not built.
_LEFT_OUT = frozenset({"node_modules", "testing", "fixture"})


class Workspace:
    """`api/web/` of the repository (or the unpacked source distribution) at `root`."""

    def __init__(self, root: Path, *, cache: Path, report: Report, env: Mapping[str, str] = os.environ) -> None:
        self.sources = root / "api" / "web"
        self.built = root / "api" / "checklist_api" / "web_dist"
        self._cache = cache
        self._lock = root / ".cache" / "web.lock"
        self._env = env
        self._report = report
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = find_node(self._cache, self._env, report=self._report)
        return self._node

    def is_current(self) -> bool:
        """Whether the last build is of the current sources."""
        stamp = self.built / STAMP
        return (
            stamp.is_file()
            and stamp.read_text().strip() == self.digest()
            and all((self.built / name / "index.html").is_file() for name in SURFACES)
        )

    def digest(self) -> str:
        """SHA-256 of the names and contents of all sources."""
        sum_ = hashlib.sha256()
        for path in sorted(self._source_files()):
            content = path.read_bytes()
            sum_.update(f"{path.relative_to(self.sources).as_posix()} {len(content)}\n".encode())
            sum_.update(content)
        return sum_.hexdigest()

    def ensure_built(self) -> None:
        """Build if out of date. Raises Failure."""
        if self.is_current():
            return
        with one_at_a_time(self._lock, "building the web app", self._report):
            if not self.is_current():  # another process may have built it while we waited
                self._ensure_packages()
                self._build()

    def ensure_packages(self) -> None:
        """Install node_modules if it differs from the lock file."""
        if not packages_are_current(self.sources):
            with one_at_a_time(self._lock, "building the web app", self._report):
                self._ensure_packages()

    def run(self, script: str, *arguments: str, what: str, log: str | None = None) -> list[str]:
        """Run a script of node_modules (or at an absolute path); returns its output. Raises Failure with `what`."""
        command = [str(self.node.program), str(self.sources / "node_modules" / script), *arguments]
        code, lines = run_with_progress(command, self.sources, self.node.env(self._env), "lines", self._report)
        if code != 0:
            raise Failure(f"{what}: {reason_of(code, lines)}{self._kept(log, lines)}")
        return lines

    def run_openly(self, script: str, *arguments: str) -> int:
        """Run a tool of node_modules that writes to the standard output; returns its exit code."""
        command = [str(self.node.program), str(self.sources / "node_modules" / script), *arguments]
        return subprocess.run(command, cwd=self.sources, env=self.node.env(self._env), check=False).returncode

    def _source_files(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.sources):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            yield from (Path(folder) / name for name in names if ".test." not in name and not name.startswith("."))

    def _ensure_packages(self) -> None:
        if not packages_are_current(self.sources):
            install_packages(self.sources, "api/web", self.node, self._env, self._report)

    def _build(self) -> None:
        """Build into a temporary folder and rename it, so that a starting service finds a complete build."""
        self._report("building the web app")
        started = time.monotonic()
        digest = self.digest()
        self.built.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".web_dist-", dir=self.built.parent))
        try:
            made.chmod(0o755)
            what = "the web app could not be built"
            self.run(str(self.sources / "build.mjs"), str(made), what=what, log="web-build.log")
            (made / STAMP).write_text(digest + "\n")
            shutil.rmtree(self.built, ignore_errors=True)
            made.rename(self.built)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        self._report(f"the web app is built ({time.monotonic() - started:.1f} s)")

    def _kept(self, log: str | None, lines: Sequence[str]) -> str:
        if log is None:
            return ""
        path = self._lock.with_name(log)
        path.write_text("\n".join(lines) + "\n")
        return f" (see {path})"
