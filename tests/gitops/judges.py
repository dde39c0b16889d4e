"""What Argo CD and Flux say of objects, by our examples and their own interpreters (`judges/`, a Go program)."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from checklist_dev.programs.verifiers import make_gitops_judges
from checklist_dev.repository import ROOT

EXAMPLES = ROOT / "examples" / "gitops"
SAME = {"Healthy": "Current", "Suspended": "Current", "Progressing": "InProgress", "Degraded": "Failed"}
"""What Flux calls what Argo CD calls so. Flux knows no pause; what is paused must not hold up a sync."""


@cache
def lua_scripts() -> dict[str, str]:
    """By kind."""
    patch = yaml.safe_load((EXAMPLES / "argocd" / "health-checks.yaml").read_text())
    return {name.rpartition("_")[2]: script for name, script in patch["data"].items()}


@cache
def cel_expressions() -> dict[str, dict[str, str]]:
    """By kind."""
    kustomization = yaml.safe_load((EXAMPLES / "flux" / "checklists.yaml").read_text())
    return {one["kind"]: one for one in kustomization["spec"]["healthCheckExprs"]}


@cache
def _program() -> Path:
    return make_gitops_judges()


def healths(objects: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(Argo CD's, Flux's) of each."""
    lines = [
        json.dumps(
            {"lua": lua_scripts()[one["kind"]], "healthCheckExprs": cel_expressions()[one["kind"]], "object": one}
        )
        for one in objects
    ]
    done = subprocess.run([_program()], input="\n".join(lines), capture_output=True, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [(answer["argocd"]["status"], _flux(answer)) for answer in answers]


def _flux(answer: Mapping[str, Any]) -> str:
    """Flux goes on asking about what it cannot judge yet, as an object that has no status at all."""
    if not answer.get("error"):
        return str(answer["flux"])
    assert "no such attribute(s): status" in answer["error"], answer
    return "InProgress"


def health(body: Mapping[str, Any]) -> str:
    """Argo CD's word, when Flux agrees."""
    ((argocd, flux),) = healths([body])
    assert SAME[argocd] == flux, (argocd, flux, body)
    return argocd
