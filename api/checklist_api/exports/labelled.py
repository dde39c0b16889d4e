"""Run objects for exports: the document of `GET /v1/runs/{run_id}` with labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import IdentityMode
from checklist_crds.runs.events import recorded

from ..runs import models
from ..runs.steps import StepResult, people_of, step_results
from .run_source import ExportedRun


@dataclass(frozen=True, slots=True)
class ExportContext:
    """Data that all formats need."""

    names: Mapping[str, str]
    """Names of the organization's members by id."""
    moment: datetime
    """Time of the export, for expiry."""
    photo_url: PhotoUrl

    def name_of(self, person: str | None) -> str:
        """Return a member's name; the id of a removed member, and an empty string for None."""
        return "" if person is None else self.names.get(person, person)


@dataclass(frozen=True, slots=True)
class Executor:
    """The person who answered, as far as known."""

    name: str
    email: str


def executor_of(exported: ExportedRun, context: ExportContext) -> Executor:
    run = exported.run
    given = run.status.identity
    match run.admitted_as.identity_mode:
        case IdentityMode.EXTERNAL:
            return Executor((given.name if given else None) or "", (given.email if given else None) or "")
        case IdentityMode.MEMBER:
            return Executor(context.name_of((given.user_id if given else None) or run.status.assigned_to), "")
        case _:
            return Executor("", "")


def labelled_view(exported: ExportedRun, context: ExportContext) -> dict[str, Any]:
    """Render the Run object with these additional fields: `sections` with all steps (`state`: answered, skipped, open,
    not_applicable or instruction; `display`: the formatted answer or null), and `people` (names by member id).

    Answers are `recorded`, so that digests printed by earlier releases stay the same."""
    run, results = exported.run, list(step_results(exported.run, exported.definition))
    view = models.Run.of(run, context.moment, context.photo_url).model_dump(warnings=False)
    return {
        **view,
        "answers": {step_id: recorded(answer) for step_id, answer in view["answers"].items()},
        "sections": [
            {
                "id": section.id,
                "title": section.title,
                "steps": [_step_view(one) for one in results if one.section is section],
            }
            for section in exported.definition.sections
        ],
        "people": {who: context.names[who] for who in sorted(people_of(run)) if who in context.names},
    }


def _step_view(result: StepResult) -> dict[str, Any]:
    return {
        "id": result.step.id,
        "type": result.step.type.value,
        "label": result.step.label,
        "required": result.step.required,
        "unit": result.step.config.unit,
        "state": result.state.value,
        "display": result.display,
    }
