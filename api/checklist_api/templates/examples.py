"""Examples of templates."""

from typing import Any, Final

from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.answer_schema import answer_schema

from ..http.example_values import CREATED_AT, ORGANIZATION_ID, STARTED_AT, TEMPLATE_ID, Json

TEMPLATE_REQUEST: Final[Json] = {
    "name": "Kitchen opening check",
    "tags": ["kitchen", "daily"],
    "settings": {"allow_skip": True, "est_minutes": 5},
    "sections": [
        {
            "id": "g-cold",
            "title": "Cold storage",
            "steps": [
                {
                    "id": "s-fridge-ok",
                    "type": "boolean",
                    "label": "Is the fridge at 5 °C or below?",
                    "required": True,
                    "config": {"true_label": "Yes", "false_label": "No"},
                },
                {
                    "id": "s-fridge-temp",
                    "type": "number",
                    "label": "What does the thermometer say?",
                    "required": True,
                    "condition": {"when": {"step": "s-fridge-ok", "op": "eq", "value": False}},
                    "config": {"unit": "°C", "min": -30, "decimal": 1},
                },
                {"id": "s-note", "type": "text", "label": "Anything else?"},
            ],
        }
    ],
}
_STEP_DEFAULTS: Final[Json] = {
    "hint": None,
    "required": False,
    "photo": False,
    "geo": False,
    "geo_required": False,
    "config": {},
}
PROMPTS: Final[dict[str, Json]] = {
    "kitchen": {"prompt": "Restaurant opening"},
    "van": {
        "prompt": "Van before the trip: tyres ok, lights ok, mirrors clean. Tyre pressure in bar (2.2 to 2.6). Is "
        "there damage? If yes, two photos and a description. Signature of the driver."
    },
    "flat": {"prompt": "Wohnungsübergabe"},
}
TDL: Final[Json] = {
    "name": "Kitchen opening check",
    "description": "",
    "tags": ["kitchen", "daily"],
    "settings": {"allow_skip": True, "signature_on_complete": False, "est_minutes": 5},
    "sections": [
        {**section, "steps": [{**_STEP_DEFAULTS, **step} for step in section["steps"]]}
        for section in TEMPLATE_REQUEST["sections"]
    ],
    "execution": {"scope": "any", "identity_required": "none"},
}
ANSWER_SCHEMA: Final[Json] = answer_schema(Definition.model_validate(TEMPLATE_REQUEST))
TEMPLATE: Final[Json] = {
    "id": TEMPLATE_ID,
    "v": 1,
    "org_id": ORGANIZATION_ID,
    **TDL,
    "created_at": CREATED_AT,
    "updated_at": CREATED_AT,
}
PATCH_REQUEST: Final[Json] = {"name": "Kitchen opening check, winter", "settings": {"est_minutes": 6}}
PATCHED_TEMPLATE: Final[Json] = {
    **TEMPLATE,
    "v": 2,
    "name": PATCH_REQUEST["name"],
    "settings": {**TDL["settings"], "est_minutes": 6},
    "updated_at": STARTED_AT,
}
TEMPLATE_SUMMARY: Final[Json] = {
    key: TEMPLATE[key] for key in ("id", "v", "name", "description", "tags", "created_at", "updated_at")
}
TEMPLATE_VERSION: Final[Json] = {
    "v": 1,
    "name": "Kitchen opening check",
    "step_count": 3,
    "created_at": CREATED_AT,
    "current": True,
    "changed_by": {"kind": "api_key", "id": "key-5d41402abc4b2a76b9719d911017c592ae2f8c1b", "name": "Nightly import"},
}
_DOOR: Final = {"id": "s-door-tight", "type": "boolean", "label": "Door tight", "required": True}
EXPLAINED: Final[dict[str, Any]] = {
    "template": Definition.model_validate(
        {"name": "Cold store", "sections": [{"id": "g-cold-store", "title": "Cold store", "steps": [_DOOR]}]}
    ).to_tdl(),
    "steps": [
        {
            "step_id": "s-door-tight",
            "source": {"start": 19, "end": 29, "text": "door tight"},
            "confidence": 0.98,
            "unsure": False,
        }
    ],
    "unused": [{"start": 0, "end": 5, "text": "Hello"}],
}
