"""Each alert has its entry in the runbook and each entry its alert; links lead somewhere, and commands can be typed."""

import re
import shlex

import pytest
from tests.chart.render.conftest import rendered, rules_of

from checklist_dev.failures import Failure
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT

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


def test_links_of_the_page_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXT):
        file, _, anchor = target.partition("#")
        if file.startswith("https://"):
            continue
        page = DOCUMENT if not file else DOCUMENT.parent / file
        assert page.exists(), target
        assert not anchor or anchor in anchors(page.read_text()), target


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
