"""Maps the steps of a template to parts of the prompt, and lists its unused parts."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from checklist_crds.resources.template_definition import Definition

if TYPE_CHECKING:
    from .composing import StepSource

UNSURE_BELOW: Final = 0.8
"""A step with less confidence is marked as unsure."""


def explanation(
    definition: Definition,
    sources: Iterable["StepSource"],
    unused: Iterable[tuple[int, int]],
    prompt: str,
    *,
    before: int = 0,
) -> dict[str, Any]:
    """`{template, steps, unused}` as JSON, with an entry for each step; `source` is null if unknown.

    `before`: number of characters stripped before the prompt, which offsets include.
    """

    def part(start: int, end: int) -> dict[str, Any]:
        return {"start": before + start, "end": before + end, "text": prompt[start:end]}

    known = {source.step_id: source for source in sources}
    steps = []
    for _, step in definition.steps():
        source = known.get(step.id)
        found = None
        if source is not None and source.start is not None and source.end is not None:
            found = part(source.start, source.end)
        confidence = None if source is None else source.confidence
        unsure = confidence is not None and confidence < UNSURE_BELOW
        steps.append({"step_id": step.id, "source": found, "confidence": confidence, "unsure": unsure})
    return {"template": definition.to_tdl(), "steps": steps, "unused": [part(start, end) for start, end in unused]}
