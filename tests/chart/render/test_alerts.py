"""Alerts fire when they should, for the real promtool, and have entries in the runbook."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.render.alert_cases import CASES, DAY, Story
from tests.chart.render.conftest import Object, rendered, rules_of

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.programs.go_tools import PROMTOOL, find_tool
from checklist_dev.repository import ROOT

VALUES = {"metrics": {"prometheusRule": {"enabled": True}}}
_IN_ORDER = ["checklist-dispatch", "checklist-dispatch-objectives", "checklist-dispatch-budgets"]
"""Recorded first, then judged: at the coarse steps of a story over days nothing is left of the step before."""


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return rendered(VALUES)


@pytest.fixture(scope="module")
def rules_file(objects: list[Object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rules(objects, tmp_path_factory.mktemp("rules"))


def write_rules(objects: list[Object], folder: Path) -> Path:
    """As Prometheus reads them."""
    spec = next(body for body in objects if body["kind"] == "PrometheusRule")["spec"]
    assert [group["name"] for group in spec["groups"]] == _IN_ORDER
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(spec))
    return file


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_tool(PROMTOOL), *arguments], capture_output=True, text=True, check=False)


def stories() -> Iterator[tuple[str, Story, bool, bool]]:
    """Name of the alert, the story, whether it fires, whether it takes days."""
    for alert, case in CASES.items():
        for story in case.fires:
            yield alert, story, True, case.over_days
        for story in case.silent:
            yield alert, story, False, case.over_days


def rule_test(alert: str, story: Story, *, fires: bool) -> dict[str, Any]:
    query = {
        "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})',
        "eval_time": f"{story.at}m",
        "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
    }
    return {
        "name": f"{alert} {'fires' if fires else 'is silent'}",
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in story.series.items()],
        "promql_expr_test": [query],
    }


def run_tests(rules: Path, folder: Path, tests: list[dict[str, Any]], every: str) -> subprocess.CompletedProcess[str]:
    file = folder / "tests.yaml"
    document = {"rule_files": [str(rules)], "evaluation_interval": every, "group_eval_order": _IN_ORDER, "tests": tests}
    file.write_text(yaml.safe_dump(document))
    return promtool("test", "rules", file)


def test_promtool_finds_nothing_wrong_with_the_rules(rules_file: Path) -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", rules_file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_story_in_which_it_fires_and_one_in_which_it_does_not(objects: list[Object]) -> None:
    alerts = [rule["alert"] for rule in rules_of(objects) if "alert" in rule]
    assert len(set(alerts)) == len(alerts)
    assert set(alerts) == set(CASES)
    assert all(case.fires and case.silent for case in CASES.values())


@pytest.mark.parametrize("over_days", [False, True])
def test_every_alert_fires_when_it_should_and_only_then(rules_file: Path, tmp_path: Path, over_days: bool) -> None:
    tests = [rule_test(alert, story, fires=fires) for alert, story, fires, days in stories() if days is over_days]
    assert len(tests) > 20
    done = run_tests(rules_file, tmp_path, tests, "30m" if over_days else "1m")
    assert done.returncode == 0, done.stdout + done.stderr


def test_objectives_are_values(tmp_path: Path) -> None:
    """A stricter one fires where the default is silent, and more errors are asked for where it fires."""
    story = next(story for alert, story, fires, _ in stories() if alert == "ChecklistDispatchBudgetShrinking" and fires)
    quiet = CASES["ChecklistDispatchBudgetShrinking"].silent[-1]
    assert story.at > DAY
    for objectives, case, fires in (
        ({"dispatch": 99.99}, quiet, True),
        ({"dispatch": 99}, story, False),
        ({"fewestErrors": 100_000}, story, False),
    ):
        objects = rendered({"metrics": {"prometheusRule": {"enabled": True}, "objectives": objectives}})
        rules = write_rules(objects, tmp_path)
        test = rule_test("ChecklistDispatchBudgetShrinking", case, fires=fires)
        done = run_tests(rules, tmp_path, [test], "30m")
        assert done.returncode == 0, (objectives, done.stdout + done.stderr)


DOCUMENT = ROOT / "docs" / "runbook.md"
TEXT = DOCUMENT.read_text()
ENABLED = {"enabled": True}


def entries() -> dict[str, str]:
    """Text of each entry, by its heading."""
    parts = re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchors(text: str) -> set[str]:
    """As GitHub and GitLab make them of headings."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def alerts(**rule: object) -> dict[str, str]:
    """Where the annotation of each alert leads."""
    objects = rendered({"metrics": {"prometheusRule": ENABLED | rule}})
    return {one["alert"]: one["annotations"]["runbook_url"] for one in rules_of(objects) if "alert" in one}


def test_each_alert_has_an_entry_and_each_entry_an_alert() -> None:
    assert set(entries()) == set(alerts())


def test_each_alert_leads_to_its_entry() -> None:
    known = anchors(TEXT)
    for alert, address in alerts().items():
        assert address == f"docs/runbook.md#{alert.lower()}"
        assert alert.lower() in known
    elsewhere = alerts(runbookUrl="https://wiki.example/runbook")
    assert elsewhere["ChecklistApiDown"] == "https://wiki.example/runbook#checklistapidown"


def commands() -> list[str]:
    """What reads the cluster and nothing else: the rest changes something, or needs pods."""
    text = "\n".join(entries().values())
    found = re.findall(r"^kubectl (?:-n checklists )?get .+$", text, flags=re.MULTILINE)
    assert len(found) > 8
    return sorted({line.partition(" | ")[0].removeprefix("kubectl ") for line in found})


@pytest.mark.parametrize("command", commands())
def test_commands_that_read_the_cluster_work(kubectl: Kubectl, command: str) -> None:
    try:
        kubectl(*shlex.split(command))
    except Failure as failure:
        pytest.fail(f"kubectl {command}: {failure}")


def test_events_of_the_log_that_the_runbook_looks_for_are_logged() -> None:
    """In `select(.event=="...")`, and named in words."""
    wanted = set(re.findall(r'\.event=="([\w.]+)"', TEXT)) | set(re.findall(r"`([a-z_]+\.[a-z_]+)` (?:has|and)", TEXT))
    files = [file for folder in ("api", "operator", "crds") for file in (ROOT / folder).rglob("*.py")]
    sources = "\n".join(file.read_text() for file in files)
    assert len(wanted) >= 3
    for event in wanted:
        assert f'"{event}' in sources, event
