"""docs/webhooks.md is true: its JSON fits the service's own document, and its tables say what the code does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.contract.openapi_check import Contract

from checklist_api.endpoint_figures import MAX_WINDOW_HOURS
from checklist_api.openapi import openapi_document
from checklist_api.replay_directory import MAX_KEPT
from checklist_api.replay_request import ReplayWish
from checklist_crds.errors import PayloadNotKept, ReplayRefused
from checklist_crds.event_names import EVENT_NAMES
from checklist_crds.outcome_class import OutcomeClass
from checklist_crds.replay_rules import ReplayRefusal
from checklist_crds.replay_types import MAX_EVENT_IDS
from checklist_crds.run_types import MAX_DELIVERY_RECORDS, DeliveryPhase
from checklist_operator.delivery.schedule import DEFAULT_GAPS
from checklist_operator.replay_places import CHOSEN_AT_ONCE, NAMED_AT_ONCE

GUIDE = (Path(__file__).resolve().parents[2] / "docs/webhooks.md").read_text()
DOCUMENT = openapi_document("https://checklists.example")
SHAPES = ("DispatchRequest", "Delivery", "ReplayRequest", "Replay", "EndpointList")


def table(heading: str) -> list[list[str]]:
    """The rows of the table whose head begins with `heading`, cell by cell."""
    lines = GUIDE[GUIDE.index(f"\n| {heading} |") + 1 :].splitlines()
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def named(cells: list[str]) -> list[str]:
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_every_json_of_the_guide_fits_the_document() -> None:
    blocks: list[dict[str, Any]] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
    assert len(blocks) == len(SHAPES)
    contract = Contract(DOCUMENT)
    for name, block in zip(SHAPES, blocks, strict=True):
        assert contract.problems({"$ref": f"#/components/schemas/{name}"}, block) == [], name


def test_the_filter_of_the_guide_is_one_that_the_service_takes() -> None:
    block = next(block for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL) if block.startswith('{"filter"'))
    assert ReplayWish.read(json.loads(block)).filter.outcome is OutcomeClass.HTTP_5XX


def test_every_path_of_the_guide_is_one_of_the_service() -> None:
    paths = set(re.findall(r"`(?:GET|POST|DELETE) (/v1/[^`?]+)", GUIDE))
    assert paths == {path for path in DOCUMENT["paths"] if "/deliver" in path or "/endpoints" in path} - {
        "/v1/deliveries/{event_id}/replay"
    }


def test_the_query_of_the_guide_is_all_of_it() -> None:
    query = re.search(r"GET /v1/deliveries\?([^`]+)", GUIDE)
    assert query is not None
    parameters = DOCUMENT["paths"]["/v1/deliveries"]["get"]["parameters"]
    known = {parameter["name"] for parameter in parameters if parameter.get("in") == "query"}
    assert {pair.removesuffix("=") for pair in query[1].split("&")} == known - {"page", "per_page"}


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("event", EVENT_NAMES),
        ("`outcome`", [outcome.value for outcome in OutcomeClass]),
        ("`status`", ["pending", "in_flight", "delivered", "failed"]),
        # One that only an annotation can be refused for.
        ("`replay_refusal`", [each.value for each in ReplayRefusal if each is not ReplayRefusal.INVALID_TIMESTAMP]),
    ],
)
def test_the_tables_name_all_there_are(heading: str, names: list[str]) -> None:
    assert sorted(named([row[0] for row in table(heading)])) == sorted(names)


def test_the_codes_of_refusals_are_those_of_the_service() -> None:
    codes = {row[0].strip("`"): row[1].strip("`") for row in table("`replay_refusal`")}
    for refusal, code in codes.items():
        kept = ReplayRefusal(refusal) is not ReplayRefusal.PAYLOAD_NOT_KEPT
        assert code == (ReplayRefused if kept else PayloadNotKept).code


def test_the_gaps_are_those_of_the_schedule() -> None:
    seconds = {"s": 1, "min": 60, "h": 3600}
    gaps = [row[1].split() for row in table("attempt")[1:]]
    assert tuple(float(number) * seconds[unit] for number, unit in gaps) == DEFAULT_GAPS


def test_the_limits_are_those_of_the_code() -> None:
    assert f"up to {MAX_WINDOW_HOURS} hours long" in GUIDE
    assert f"(up to {MAX_EVENT_IDS}, with their `run_id`)" in GUIDE
    assert f"with more than {MAX_DELIVERY_RECORDS} events" in GUIDE
    assert f"may have {MAX_KEPT:,} replays" in GUIDE
    assert "Of one organization four replays are worked off at a time, and beside them eight that name" in GUIDE
    assert (CHOSEN_AT_ONCE, NAMED_AT_ONCE) == (4, 8)
    assert len(DeliveryPhase) == len(table("`status`"))
