"""kubectl as a function, for developer tools."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from checklist_dev.failures import Failure


class Kubectl(Protocol):
    """Runs kubectl against one cluster and returns its standard output. Raises Failure with kubectl's error."""

    def __call__(self, *arguments: str, stdin: str | None = None, timeout_s: float = 60.0) -> str: ...


def kubectl_for(program: Callable[[], Path], kubeconfig: Path | str) -> Kubectl:
    """`program` is called each time, since finding kubectl may mean building it."""

    def run(*arguments: str, stdin: str | None = None, timeout_s: float = 60.0) -> str:
        command = [str(program()), *arguments]
        env = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        shown = " ".join(arguments)
        try:
            done = subprocess.run(
                command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False, env=env
            )
        except subprocess.TimeoutExpired as error:
            raise Failure(f"kubectl {shown}: no answer within {timeout_s:.0f} s") from error
        if done.returncode != 0:
            raise Failure(f"kubectl {shown}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    return run
