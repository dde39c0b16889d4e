"""Renders the chart with real Helm, as a release `rel` in the namespace `apps`."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from checklist_dev.generate.chart_files import CHART
from checklist_dev.programs.go_tools import HELM, find_tool

HERE = Path(__file__).parent
IMAGE = {"repository": "registry.example/checklist-dispatch"}
"""Required: what every case has that names none."""
Object = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A combination of values and what must come of it: see cases.yaml."""

    name: str
    values: dict[str, Any]
    kinds: dict[str, int]
    expect: dict[str, Any]


def cases() -> list[Case]:
    return [
        Case(entry["name"], entry.get("values") or {}, entry.get("kinds") or {}, entry.get("expect") or {})
        for entry in yaml.safe_load((HERE / "cases.yaml").read_text())
    ]


def helm(*arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": os.devnull}
    return subprocess.run(
        [find_tool(HELM), *arguments], input=stdin, capture_output=True, text=True, check=False, env=environment
    )


def rendered(values: dict[str, Any], *more: str, definitions: bool = False, release: str = "rel") -> list[Object]:
    """The objects, hooks and tests included. Raises ValueError with Helm's words.

    `definitions`: the custom resource definitions too. They are the same in every case, and large.
    """
    arguments = ["template", release, str(CHART), "--namespace", "apps", "--values", "-", *more]
    arguments += [] if definitions else ["--set", "crds.enabled=false"]
    done = helm(*arguments, stdin=json.dumps({**values, "image": {**IMAGE, **values.get("image", {})}}))
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return [body for body in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if body]


_SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


@dataclass(frozen=True)
class Selector:
    """A metric with what is asked of its labels."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]

    @property
    def labels(self) -> set[str]:
        return {label for label, _, _ in self.matchers}


def selectors(expression: str) -> list[Selector]:
    return [Selector(name, tuple(_MATCHER.findall(text))) for name, text in _SELECTOR.findall(expression)]


def grouped_by(expression: str) -> set[str]:
    return {label.strip() for labels in _GROUPING.findall(expression) for label in labels.split(",") if label.strip()}


def rules_of(objects: list[Object]) -> list[Object]:
    """Of the PrometheusRule: `{alert or record, expr, ...}`."""
    rule = next(body for body in objects if body["kind"] == "PrometheusRule")
    return [rule for group in rule["spec"]["groups"] for rule in group["rules"]]


def panels_of(objects: list[Object]) -> list[tuple[str, str]]:
    """Title and expression of each query of each dashboard."""
    boards = [body for body in objects if body["kind"] == "ConfigMap" and "dashboard" in body["metadata"]["name"]]
    return [
        (f"{board['metadata']['name']}: {panel['title']}", target["expr"])
        for board in boards
        for text in board["data"].values()
        for panel in json.loads(text)["panels"]
        for target in panel["targets"]
    ]
