"""docs/webhooks.md is true: its JSON fits the models of the API's document, and its tables say what the code does."""

import json
import re
from typing import Any

from checklist_api.deliveries.models import Delivery, EndpointList, Replay, ReplayRequest
from checklist_api.runs.models import DispatchRequest
from checklist_crds.errors import PayloadNotKept, ReplayRefused
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.runs.replay_rules import ReplayRefusal
from checklist_dev.repository import ROOT

GUIDE = (ROOT / "docs/webhooks.md").read_text()
SHAPES = (DispatchRequest, Delivery, ReplayRequest, Replay, EndpointList)


def table(heading: str) -> dict[str, str]:
    """Name to second cell, for each row of the table whose head begins with `heading`, without backticks."""
    rows = GUIDE[GUIDE.index(f"\n| {heading} |") + 1 :].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.replace("`", "").strip("|").split("|")] for row in rows]
    return {name: row[1] for row in cells for name in row[0].split(", ")}


def test_every_json_of_the_guide_fits_the_models_of_the_document() -> None:
    blocks: list[dict[str, Any]] = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
    for shape, block in zip(SHAPES, blocks, strict=True):
        is_request = shape.__name__.endswith("Request")  # an answer has every field
        assert shape.model_validate(block).model_dump(mode="json", exclude_unset=is_request) == block, shape
    assert ReplayRequest.read(blocks[2]).filter.to_resource().outcome is OutcomeClass.HTTP_5XX


def test_the_tables_have_every_name_and_the_codes_of_the_service() -> None:
    assert set(table("`outcome`")) == set(OutcomeClass)
    assert set(table("`status`")) == {"pending", "in_flight", "delivered", "failed"}
    assert set(table("event")) == set(EVENT_NAMES)
    # An annotation alone can be refused for an invalid timestamp.
    assert table("`replay_refusal`") == {
        refusal: (PayloadNotKept if refusal is ReplayRefusal.PAYLOAD_NOT_KEPT else ReplayRefused).code
        for refusal in ReplayRefusal
        if refusal is not ReplayRefusal.INVALID_TIMESTAMP
    }
