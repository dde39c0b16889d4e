"""A run for its page in the dashboard: the Run object with the dispatched checklist.

The snapshot's steps come in their order, each with what became of it, so that the page neither judges conditions nor
formats values by itself.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.run import Run, Webhook
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.conditions import missing_required

from ..index.delivery_sources import host_of
from ..runs import models
from ..runs.steps import StepResult, people_of, step_results


def story_view(
    run: Run, definition: Definition, names: Mapping[str, str], now: datetime, photo_url: PhotoUrl
) -> dict[str, Any]:
    """The Run object, with these on top: `created_by_name` (null for a run made with kubectl), `allow_skip`,
    `signature_required`, `webhook` (`{host, events}` or null), `sections` with their steps, `missing_steps` (ids of
    required steps without an answer), and `people`: names by the member ids that occur, of those in `names`."""
    status = run.status
    steps = list(step_results(run, definition))
    return {
        **models.Run.of(run, now, photo_url).model_dump(warnings=False),
        "created_by_name": run.spec.created_by_name,
        "allow_skip": definition.settings.allow_skip,
        "signature_required": definition.settings.signature_on_complete,
        "webhook": _webhook_view(run.spec.webhook),
        "sections": [
            {
                "id": section.id,
                "title": section.title,
                "steps": [_step_view(result) for result in steps if result.section is section],
            }
            for section in definition.sections
        ],
        "missing_steps": [step.id for step in missing_required(definition, status.answers, status.skipped_steps)],
        "last_step_id": status.last_step_id,
        "people": {person: names[person] for person in sorted(people_of(run)) if person in names},
    }


def _step_view(result: StepResult) -> dict[str, Any]:
    """`state` is one of answered, skipped, open, not_applicable, instruction; `display` is the answer for people."""
    step = result.step
    return {
        "id": step.id,
        "type": step.type.value,
        "label": step.label,
        "required": step.required,
        "geo": step.geo,
        "state": result.state.value,
        "display": result.display,
        "revision": None if result.answer is None else result.answer.revision,
    }


def _webhook_view(webhook: Webhook | None) -> dict[str, Any] | None:
    """Path and query of the address may be as secret as a password."""
    return None if webhook is None else {"host": host_of(webhook.url), "events": list(webhook.events)}
