"""Answers of a run on the terminal: all of them, or one for a shell variable."""

import json
from typing import Any

from ..console.terminal import plain
from .waiting import print_json


def print_answer(answer: dict[str, Any], *, as_json: bool) -> None:
    """Print one answer: its value, text without quotes, or the whole answer as JSON."""
    if as_json:
        print_json(answer)
    else:
        value = answer.get("value")
        print(plain(value) if isinstance(value, str) else json.dumps(value))


def value_text(answer: dict[str, Any]) -> str:
    """Render the value, the number of photos, whether it is flagged, and the note."""
    value, photos, note = answer.get("value"), answer.get("photos") or [], answer.get("note")
    shown = [] if value is None and photos else [json.dumps(value, ensure_ascii=False)]
    if photos:
        shown.append(f"{len(photos)} photo{'s' if len(photos) > 1 else ''}")
    if answer.get("flagged"):
        shown.append("not as expected")
    if note is not None:
        shown.append(f"note {json.dumps(note, ensure_ascii=False)}")
    return ", ".join(shown)
