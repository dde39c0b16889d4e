"""Where a generated template came from: the parts of the prompt that became steps, and those that became nothing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .generate_request import GenerateRequest

if TYPE_CHECKING:
    from .generator import Generated


@dataclass(frozen=True, slots=True)
class _Sent:
    """The prompt with the white space that surrounded it; the composer read it without."""

    prompt: str
    before: int

    def part(self, start: int, end: int) -> dict[str, Any]:
        return {"start": self.before + start, "end": self.before + end, "text": self.prompt[start:end]}


def explained(made: "Generated", wanted: GenerateRequest) -> dict[str, Any]:
    """The template, and of each step its source. A model does not say where it has its steps from."""
    sent = _Sent(wanted.prompt, wanted.before)
    known = {source.step_id: source for source in made.sources}
    steps = []
    for _, step in made.definition.steps():
        source = known.get(step.id)
        found = None
        if source is not None and source.start is not None and source.end is not None:
            found = sent.part(source.start, source.end)
        confidence = None if source is None else source.confidence
        steps.append({"step_id": step.id, "source": found, "confidence": confidence})
    return {
        "template": made.definition.to_tdl(),
        "steps": steps,
        "unused": [sent.part(start, end) for start, end in made.unused],
    }
