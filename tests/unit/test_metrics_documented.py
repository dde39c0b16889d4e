"""docs/metrics.md names every metric with its kind and its labels, and nothing else."""

import re
from pathlib import Path

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import CollectorRegistry

from checklist_api.metrics import Metrics as ApiMetrics
from checklist_operator.metrics import Metrics as OperatorMetrics

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
_ROW = re.compile(r"^\| `(checklists_\w+)` \| (\w+) \|(.*?)\|", re.MULTILINE)
Shape = tuple[str, frozenset[str]]


def documented() -> dict[str, Shape]:
    rows = _ROW.findall(DOCUMENT.read_text())
    assert len({name for name, _, _ in rows}) == len(rows), "a metric is described twice"
    return {name: (kind, frozenset(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def served() -> dict[str, Shape]:
    operator = OperatorMetrics()
    operator.watch_size("heap", lambda: 0)
    operator.watch_age("retry", lambda: 0.0)
    return _shapes(operator.registry) | _shapes(ApiMetrics().registry)


def _shapes(registry: CollectorRegistry) -> dict[str, Shape]:
    shapes = {}
    for collector in list(registry._collector_to_names):
        names = frozenset(collector._labelnames) if isinstance(collector, MetricWrapperBase) else frozenset({"of"})
        for family in collector.collect():
            shapes[family.name] = (family.type, names)
    return shapes


def test_every_metric_is_described_with_its_kind_and_its_labels() -> None:
    assert documented() == served()


def test_no_label_holds_what_callers_choose() -> None:
    chosen = {"run_id", "event_id", "host", "url", "organization", "key", "namespace", "name"}
    assert {name: labels & chosen for name, (_, labels) in served().items() if labels & chosen} == {}
