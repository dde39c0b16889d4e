"""The bounds that the web apps have a copy of."""

import re

from checklist_api.executor.models import MAX_EMAIL, MAX_NAME, MAX_REASON
from checklist_crds.resources.run import MAX_EXPIRY_HOURS, MAX_NOTE
from checklist_crds.resources.step_condition import MAX_COMPARISONS
from checklist_crds.resources.template_definition import MAX_OPTIONS, MAX_SECTIONS, MAX_STEPS, MAX_TAGS, Definition
from checklist_crds.step_types.photo_bounds import MAX_PHOTOS_PER_STEP
from checklist_dev.repository import ROOT


def test_the_web_apps_have_the_bounds_of_the_service() -> None:
    text = (ROOT / "api/web/core/bounds.ts").read_text("utf-8")
    assert dict(re.findall(r"^export const (\w+) = ([\d_]+);$", text, re.MULTILINE)) == {
        "MAX_NAME": f"{MAX_NAME}",
        "MAX_EMAIL": f"{MAX_EMAIL}",
        "MAX_REASON": f"{MAX_REASON}",
        "MAX_NOTE": f"{MAX_NOTE:_}",
        "MAX_PHOTOS_PER_STEP": f"{MAX_PHOTOS_PER_STEP}",
        "MAX_EXPIRY_HOURS": f"{MAX_EXPIRY_HOURS:_}",
    }


def test_the_template_editor_has_the_bounds_of_a_definition() -> None:
    text = (ROOT / "api/web/core/authoring/draft.ts").read_text("utf-8")
    limits = text.partition("export const LIMITS = {")[2].partition("}")[0]
    schema = Definition.model_json_schema()
    of_template, of_section, of_step, of_option = (
        each["properties"] for each in (schema, *(schema["$defs"][name] for name in ("Section", "Step", "Option")))
    )
    assert of_section["title"]["maxLength"] == of_step["label"]["maxLength"]
    assert {name: int(number) for name, number in re.findall(r"^  (\w+): ([\d_]+),$", limits, re.MULTILINE)} == {
        "sections": MAX_SECTIONS,
        "steps": MAX_STEPS,
        "options": MAX_OPTIONS,
        "tags": MAX_TAGS,
        "tag": of_template["tags"]["items"]["maxLength"],
        "name": of_template["name"]["maxLength"],
        "description": of_template["description"]["maxLength"],
        "title": of_step["label"]["maxLength"],
        "hint": of_step["hint"]["anyOf"][0]["maxLength"],
        "option": of_option["label"]["maxLength"],
        "comparisons": MAX_COMPARISONS,
    }
