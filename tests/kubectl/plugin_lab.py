"""`kubectl checklists` as a person starts it: by the real kubectl, which finds the plugin on PATH."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = Path(sys.executable).parent
"""Where the entry points of the package are installed."""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A person's environment: kubectl and the plugin on PATH, and a kubeconfig whose context has the namespace."""

    kubectl: Path
    kubeconfig: Path
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.kubectl.parent), str(PROGRAMS), os.environ["PATH"]])
        return {**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig), **self.more}

    async def __call__(self, *arguments: str) -> Done:
        """`kubectl checklists ARGUMENTS`."""
        return await self.run([str(self.kubectl), "checklists", *arguments])

    async def run(self, command: list[str], *, stdin: str | None = None, **more: str) -> Done:
        """Any command in this environment, to its end."""
        return await asyncio.to_thread(self._run, command, stdin, more)

    def _run(self, command: list[str], stdin: str | None, more: Mapping[str, str]) -> Done:
        environment = {**self.environment, **more}
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=240, env=environment, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`kubectl checklists ARGUMENTS` in the background."""
        return subprocess.Popen(
            [str(self.kubectl), "checklists", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, "PYTHONUNBUFFERED": "1"},
        )


def kubeconfig_for(original: Path, target: Path, namespace: str, user: Mapping[str, Any] | None = None) -> Path:
    """Write a kubeconfig with this namespace in its context, and another context without one."""
    config = json.loads(original.read_text())
    context = config["contexts"][0]
    elsewhere = {"name": "elsewhere", "context": dict(context["context"])}
    context["context"]["namespace"] = namespace
    config["contexts"].append(elsewhere)
    if user is not None:
        config["users"][0]["user"] = dict(user)
    target.write_text(json.dumps(config))
    return target
