"""What a PromQL expression asks for, and what a rendered PrometheusRule or dashboard holds of them."""

import json
import re
from dataclasses import dataclass

from .conftest import Object

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
