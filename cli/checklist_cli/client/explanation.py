"""What `checklist-dispatch generate --explain` tells: of each step the words of the prompt that it was made of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checklist_crds.resources.template_definition import Definition

from ..console.terminal import plain

Explanation = Mapping[str, Any]
"""`{template, steps, unused}`, as the API answers with `explain=true`."""
_HEADINGS: Final = ("step", "type", "sure", "words of the prompt")
_WIDEST: Final = 48
_NO_WORDS: Final = "-"


def table(definition: Definition, explanation: Explanation) -> str:
    """Steps in their order, and then what was not used. Raises KeyError, TypeError or AttributeError for an
    explanation of another form."""
    known = {each["step_id"]: each for each in explanation["steps"]}
    rows: list[Sequence[str]] = [_HEADINGS]
    for _, step in definition.steps():
        found = known.get(step.id, {})
        confidence, source = found.get("confidence"), found.get("source")
        sure = _NO_WORDS if confidence is None else f"{float(confidence):.0%}"
        rows.append((step.id, step.type.value, sure, _NO_WORDS if source is None else _one_line(source["text"])))
    unused = [_one_line(part["text"]) for part in explanation["unused"]]
    return "\n".join([*_aligned(rows), *([""] if unused else []), *(f"not used: {words}" for words in unused)])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [min(max(len(row[column]) for row in rows), _WIDEST) for column in range(len(_HEADINGS) - 1)]
    for row in rows:
        yield "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])


def _one_line(text: str) -> str:
    return plain(" ".join(text.split()))
