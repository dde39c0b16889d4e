"""The steps of a run with their states and formatted answers, for pages and exports."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from checklist_crds.resources.run import Answer, Run
from checklist_crds.resources.template_definition import Definition, Section, Step
from checklist_crds.templates.answers import display_value
from checklist_crds.templates.conditions import applicable_step_ids


class StepState(StrEnum):
    ANSWERED = "answered"
    SKIPPED = "skipped"
    OPEN = "open"
    NOT_APPLICABLE = "not_applicable"
    INSTRUCTION = "instruction"


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step with its state and answer (also that of a step that does not apply)."""

    section: Section
    step: Step
    state: StepState
    answer: Answer | None

    @property
    def display(self) -> str | None:
        """The formatted answer; None without one."""
        return None if self.answer is None else display_value(self.step, self.answer.value)


def step_results(run: Run, definition: Definition) -> Iterator[StepResult]:
    """Yield all steps of the run's definition in order."""
    status = run.status
    applicable = applicable_step_ids(definition, status.answers, status.skipped_steps)
    for section, step in definition.steps():
        answer = status.answers.get(step.id)
        if step.id not in applicable:
            state = StepState.NOT_APPLICABLE
        elif not step.type.rules.takes_answer:
            state = StepState.INSTRUCTION
        elif step.id in status.skipped_steps:
            state = StepState.SKIPPED
        else:
            state = StepState.ANSWERED if answer is not None else StepState.OPEN
        yield StepResult(section, step, state, answer)


def people_of(run: Run) -> set[str]:
    """Return the ids of all members in the run."""
    status = run.status
    members = {status.assigned_to, status.identity.user_id if status.identity else None}
    return {person for person in members | {answer.by for answer in status.answers.values()} if person is not None}
