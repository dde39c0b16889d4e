"""Alerts, objectives and dashboards ask for metrics and labels that there are: API and operator run, a real Prometheus
scrapes them by the chart's rules, and what it has is compared with what the expressions say.
"""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import CollectorRegistry
from tests.chart.render.alert_cases import CASES
from tests.chart.render.conftest import Selector, grouped_by, panels_of, rendered, rules_of, selectors
from tests.chart.render.test_alerts import write_rules
from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.replicas.api_processes import api_processes
from tests.waiting import eventually

from checklist_api.metrics import Metrics as ApiMetrics
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.programs.go_tools import PROMETHEUS, find_tool
from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child
from checklist_operator.runtime.metrics import Metrics as OperatorMetrics

VALUES = {"metrics": {"prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}}}
OF_PROMETHEUS = {"namespace", "service", "pod"}
"""Labels that the Prometheus operator gives to what it scrapes through a ServiceMonitor."""
OBJECTIVES = {"dispatch", "first-attempt", "expiry"}
Samples = Mapping[str, list[Mapping[str, str]]]


def names_of(family: Metric) -> set[str]:
    """Of its samples."""
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
    return {family.name + suffix for suffix in suffixes}


def declared() -> dict[str, set[str]]:
    """Every name that a sample of API or operator can have, with the labels that it bears then."""
    found: dict[str, set[str]] = {"up": set(), "ALERTS": {"alertname", "alertstate"}}
    registries: list[CollectorRegistry] = [ApiMetrics().registry, OperatorMetrics().registry]
    for registry in registries:
        for collector in list(registry._collector_to_names):
            labels = set(getattr(collector, "_labelnames", ("of",)))
            for family in collector.collect():
                for name in names_of(family):
                    found[name] = labels | ({"le"} if name.endswith("_bucket") else set())
    return found


def asked() -> list[tuple[str, str]]:
    """Where, and the expression: all alerts, recordings and panels."""
    objects = rendered(VALUES)
    rules = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules_of(objects)]
    panels = panels_of(objects)
    assert len(rules) > 50
    assert len(panels) > 25
    return rules + panels


def recorded() -> dict[str, set[str]]:
    return {rule["record"]: set(rule["labels"]) for rule in rules_of(rendered(VALUES)) if "record" in rule}


def test_what_is_asked_for_is_declared() -> None:
    known = declared() | recorded()
    for where, expression in asked():
        assert "NAMESPACE" not in expression and "FULLNAME" not in expression
        found = selectors(expression)
        assert found or expression.startswith("vector("), where
        for selector in found:
            assert selector.metric in known, where
            assert selector.labels <= known[selector.metric] | OF_PROMETHEUS, (where, selector)
        every = set().union(*(known[selector.metric] for selector in found))
        assert grouped_by(expression) <= every | OF_PROMETHEUS, where


def test_alert_cases_use_series_that_exist() -> None:
    known = declared()
    for alert, case in CASES.items():
        for story in case.fires + case.silent:
            for (selector,) in map(selectors, story.series):
                assert selector.labels - OF_PROMETHEUS == known[selector.metric], (alert, selector)


@dataclass
class Scraped:
    """`samples`: labels of each series by its name, as the programs serve them; `prometheus`: where to ask it."""

    samples: Samples
    families: set[str]
    prometheus: httpx.AsyncClient


@pytest.fixture
async def scraped(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Scraped]:
    """After one run was dispatched over REST, one event delivered, and one run expired."""
    receiver = Receiver()
    await receiver.start()
    operator = OperatorProcess(tmp_path, control_plane.kubeconfig, namespace)
    async with (
        KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as client,
        api_processes(1, tmp_path, control_plane.kubeconfig, namespace, CHECKLISTS_WATCH_NAMESPACES=namespace) as (
            api,
        ),
    ):
        try:
            await operator.start()
            with prometheus(tmp_path, {"api": api.url, "operator": f"http://127.0.0.1:{operator.port}"}) as url:
                async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
                    # What happened before the first scrape is no increase.
                    await eventually(lambda: has_scraped(http), every_s=0.2)
                    lab = Lab(client, namespace)
                    await lab.prepare()
                    async with httpx.AsyncClient(base_url=api.url, trust_env=False) as rest:
                        # Refused, since there is no such key: it is counted all the same.
                        assert (await rest.post("/v1/runs", json={"template_id": "t-1"})).status_code == 401
                        run = await lab.dispatch(receiver.url, expires_in_s=1)
                        await lab.until_settled(run)
                        served = (await rest.get("/metrics")).text
                    yield Scraped(*parsed([served, (await operator.get("/metrics"))[1]]), http)
        finally:
            await operator.stop()
            await receiver.stop()


async def has_scraped(http: httpx.AsyncClient) -> bool:
    """Both programs."""
    try:
        response = await http.get("/api/v1/query", params={"query": "sum(up)"})
    except httpx.TransportError:
        return False
    found = response.json()["data"]["result"] if response.is_success else []
    return bool(found) and found[0]["value"][1] == "2"


def parsed(texts: Iterable[str]) -> tuple[Samples, set[str]]:
    samples: dict[str, list[Mapping[str, str]]] = {}
    families: set[str] = set()
    for text in texts:
        for family in text_string_to_metric_families(text):
            families |= names_of(family)
            for sample in family.samples:
                samples.setdefault(sample.name, []).append(sample.labels)
    return samples, families


@contextmanager
def prometheus(folder: Path, targets: Mapping[str, str]) -> Iterator[str]:
    """The address of a real one, with the chart's rules, that scrapes what is given each half second."""
    (port,) = free_ports(1)
    jobs = []
    for name, url in targets.items():
        labels = {"namespace": "apps", "service": f"rel-checklist-dispatch-{name}", "pod": f"{name}-0"}
        target = {"targets": [url.removeprefix("http://")], "labels": labels}
        jobs.append({"job_name": name, "static_configs": [target]})
    document = {
        "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
        "rule_files": [str(write_rules(rendered(VALUES), folder))],
        "scrape_configs": jobs,
    }
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(document))
    command: list[str] = [str(find_tool(PROMETHEUS)), f"--config.file={file}"]
    command += [f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    child = Child("prometheus", command, log=folder / "prometheus.log")
    child.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        child.stop()


async def test_a_real_prometheus_computes_every_rule_and_panel_from_what_the_programs_serve(scraped: Scraped) -> None:
    known = {"up", *recorded()}
    for where, expression in asked():
        for selector in selectors(expression):
            if selector.metric not in known:
                assert selector.metric in scraped.families, where
                assert_labels_are_served(where, selector, scraped.samples.get(selector.metric, []))

    async def all_recorded() -> bool:
        events = await values(scraped, "checklists:objective_events:rate5m")
        return events.get("first-attempt", 0) > 0 and events.get("expiry", 0) > 0 and events.get("dispatch") == 0

    await eventually(all_recorded, every_s=0.2)
    answer = (await scraped.prometheus.get("/api/v1/rules")).json()["data"]["groups"]
    rules: list[dict[str, Any]] = [rule for group in answer for rule in group["rules"]]
    assert len(rules) == len(rules_of(rendered(VALUES)))
    assert [rule["name"] for rule in rules if rule["health"] != "ok" or rule.get("lastError")] == []
    assert [rule["name"] for rule in rules if rule.get("state") == "firing"] == []
    for record in recorded():
        assert set(await values(scraped, record)) == OBJECTIVES, record
    for title, expression in panels_of(rendered(VALUES)):
        query = expression.replace("$namespace", "apps").replace("$__rate_interval", "1m")
        response = await scraped.prometheus.get("/api/v1/query", params={"query": query})
        assert response.json()["status"] == "success", (title, response.text)


def assert_labels_are_served(where: str, selector: Selector, series: list[Mapping[str, str]]) -> None:
    """Of a metric that nothing has happened to yet there are no series: `declared` has its labels."""
    for labels in series:
        assert selector.labels - OF_PROMETHEUS <= set(labels), (where, selector)
    if selector.labels & {"le", "receiver", "of", "route", "method", "result"}:
        exact = [(label, value) for label, op, value in selector.matchers if op == "=" and label not in OF_PROMETHEUS]
        assert any(all(labels[label] == value for label, value in exact) for labels in series), (where, selector)


async def values(scraped: Scraped, metric: str) -> dict[str, float]:
    """By objective."""
    response = await scraped.prometheus.get("/api/v1/query", params={"query": metric})
    found = response.json()["data"]["result"]
    return {one["metric"]["objective"]: float(one["value"][1]) for one in found}


def test_dashboards_are_whole() -> None:
    objects = rendered(VALUES)
    boards = [body for body in objects if body["kind"] == "ConfigMap" and "dashboard" in body["metadata"]["name"]]
    assert len(boards) == 4
    for board in boards:
        (text,) = board["data"].values()
        panels: list[dict[str, Any]] = json.loads(text)["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels) >= 8
        assert all(re.fullmatch(r"[A-Z]", target["refId"]) for panel in panels for target in panel["targets"])
