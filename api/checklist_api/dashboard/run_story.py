"""`/dashboard/api/{org_id}/runs/{run_id}/...`: data for the page of a run, in addition to the REST API.

- `GET /runs/{run_id}/story` (viewers): the run and its checklist. Each step has its state and display value, so the
  page neither evaluates conditions nor formats values.
- `GET /runs/{run_id}/link` (editors, since it allows answering): the executor's link, also as a QR code.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, Final

import segno
from aiohttp import web

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.organization import Role
from checklist_crds.resources.run import Run, Webhook
from checklist_crds.resources.template_definition import Definition
from checklist_crds.resources.webhook_url import host_of
from checklist_crds.templates.answers import expected_text
from checklist_crds.templates.conditions import missing_required
from checklist_crds.times import Clock, format_optional

from ..auth.gate import Caller
from ..auth.members import MemberDirectory
from ..http.json_body import json_response
from ..runs import models
from ..runs.access import RunAccess
from ..runs.routes import RunLink
from ..runs.steps import StepResult, people_of, step_results
from .table import Route


def story_view(
    run: Run, definition: Definition, names: Mapping[str, str], now: datetime, photo_url: PhotoUrl
) -> dict[str, Any]:
    """Render the Run object with these additional fields: `created_by_name` (null for a run made with kubectl),
    `allow_skip`, `signature_required`, `webhook` (`{host, events}` or null), `sections` with their steps,
    `missing_steps` (ids of steps that prevent the submit), and `people` (names by member id)."""
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
    """`state`: answered, skipped, open, not_applicable or instruction. `display`: the formatted answer. `expected`:
    what is expected, for people; empty if nothing is."""
    step = result.step
    return {
        "id": step.id,
        "type": step.type.value,
        "label": step.label,
        "required": step.required,
        "geo": step.geo,
        "state": result.state.value,
        "display": result.display,
        "expected": expected_text(step),
        "revision": None if result.answer is None else result.answer.revision,
    }


def _webhook_view(webhook: Webhook | None) -> dict[str, Any] | None:
    """Path and query are omitted, since they may contain secrets."""
    return None if webhook is None else {"host": host_of(webhook.url), "events": list(webhook.events)}


_NOT_STORED: Final = {"Cache-Control": "no-store"}


class RunStoryRoutes:
    """Both handlers raise RunNotFound, also for a run of another organization."""

    def __init__(
        self, runs: RunAccess, members: MemberDirectory, photo_url: PhotoUrl, clock: Clock, *, run_link: RunLink
    ) -> None:
        self._runs = runs
        self._members = members
        self._photo_url = photo_url
        self._clock = clock
        self._run_link = run_link

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs/{run_id}/story", Role.VIEWER, self.story),
            Route("GET", "/runs/{run_id}/link", Role.EDITOR, self.link),
        )

    async def story(self, request: web.Request, caller: Caller) -> web.Response:
        organization = caller.organization
        run = await self._runs.of_organization(request.match_info["run_id"], organization)
        definition = await self._runs.definition(run)
        names = {member.id: member.display_name for member in self._members.of_organization(organization.name)}
        return json_response(story_view(run, definition, names, self._clock(), self._photo_url))

    async def link(self, request: web.Request, caller: Caller) -> web.Response:
        run = await self._runs.of_organization(request.match_info["run_id"], caller.organization)
        link = self._run_link(caller.organization.id, run.id)
        answer = {"link": link, "expires_at": format_optional(run.expires_at), "qr": qr_code(link)}
        return json_response(answer, headers=_NOT_STORED)


def qr_code(text: str) -> dict[str, Any]:
    """Return `{size, path}`: the dark modules as the `d` of an SVG path on a size x size grid, without a quiet zone."""
    matrix = segno.make(text, error="m", micro=False).matrix
    strokes = []
    for y, row in enumerate(matrix):
        x = 0
        for dark, modules in groupby(row):
            width = len(list(modules))
            if dark:
                strokes.append(f"M{x} {y}h{width}v1h-{width}z")
            x += width
    return {"size": len(matrix), "path": "".join(strokes)}
