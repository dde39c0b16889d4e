"""Answers of a run on the terminal: all of them, or one for a shell variable."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..console.command import CommandFailed
from ..console.terminal import plain
from .run_commands import print_json


def print_answers(
    answers: Mapping[str, dict[str, Any]], *, step: str | None, as_json: bool, print_all: Callable[[], None]
) -> None:
    """Print the answer of `step`; without one all of them, as JSON or by `print_all`.

    Raises CommandFailed without an answer of `step`.
    """
    if step is not None:
        if step not in answers:
            raise CommandFailed(f"the run has no answer to {step}")
        _print_answer(answers[step], as_json=as_json)
    elif as_json:
        print_json(answers)
    else:
        print_all()


def _print_answer(answer: dict[str, Any], *, as_json: bool) -> None:
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
