"""Plausible answers of a person for each kind of step."""

import io
from collections.abc import Mapping
from typing import Any

from PIL import Image, ImageDraw

Json = dict[str, Any]


def steps_of(template: Mapping[str, Any]) -> list[Json]:
    """All steps of a TDL document, in order."""
    return [step for section in template["sections"] for step in section["steps"]]


def open_steps(view: Json) -> list[Json]:
    """Applicable steps without answer or skip, except instructions."""
    return [
        step
        for step in steps_of(view["template"])
        if step["id"] in view["applicable_steps"]
        and step["id"] not in view["answers"]
        and step["id"] not in view["skipped_steps"]
        and step["type"] != "instruction"
    ]


def photos_needed(step: Json) -> int:
    """The number of photos that the step requires."""
    if step["type"] == "photo":
        return max(1, int((step.get("config") or {}).get("min", 1)))
    return int(step["photo"].get("min", 0)) if isinstance(step.get("photo"), dict) else 0


def taken_photo(number: int) -> bytes:
    """A JPEG of 640 x 480 pixels with its own colour."""
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), ((37 * number) % 256, (91 * number) % 256, 128)).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def drawn_signature() -> bytes:
    """A PNG with a line, as sent by the signature pad."""
    picture = Image.new("RGBA", (400, 160), (255, 255, 255, 0))
    ImageDraw.Draw(picture).line([(20, 120), (120, 30), (180, 130), (380, 60)], fill=(20, 20, 60, 255), width=4)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def plausible_value(step: Json) -> Any:
    """An answer that fits the step's type and bounds."""
    config = step.get("config") or {}
    match step["type"]:
        case "boolean":
            return True
        case "number":
            low, high = config.get("min", 0), config.get("max", config.get("min", 0) + 10)
            return round((low + high) / 2, config.get("decimal", 0)) if config.get("decimal") else round(low)
        case "choice":
            return config["options"][0]["id"]
        case "multi_choice":
            wanted = max(1, config.get("min_selected", 1))
            return [option["id"] for option in config["options"][:wanted]]
        case "rating":
            return config.get("max", 5)
        case "date":
            return "2026-11-21"
        case "time":
            return "13:50"
        case "datetime":
            return "2026-11-21T13:50:00Z"
        case "signature":
            return {"name": "Sam Example"}
        case "scan":
            return "4006381333931"
        case "photo":
            return None
        case _:
            return "As expected."
