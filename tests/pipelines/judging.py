"""What Argo Workflows and Tekton say of the examples, by their own types (`judges/`, a Go program)."""

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from checklist_dev.programs.verifiers import make_pipeline_judges


@cache
def _program() -> Path:
    return make_pipeline_judges()


def _asked(question: Mapping[str, Any]) -> dict[str, str]:
    done = subprocess.run(
        [_program()], input=json.dumps(question), capture_output=True, text=True, timeout=60, check=True
    )
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def problem(body: Mapping[str, Any]) -> str:
    """Why the project's own types refuse an object; empty when they take it."""
    return _asked({"kind": body["kind"], "object": body}).get("error", "")


def verdict(body: Mapping[str, Any], *, success: str, failure: str) -> str:
    """What the conditions of an Argo resource template make of an object: succeeded, failed or waiting."""
    answer = _asked({"success": success, "failure": failure, "object": body})
    assert not answer.get("error"), answer
    return answer["verdict"]
