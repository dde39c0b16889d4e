"""`/dashboard/api/{org_id}/runs/{run_id}/...`: what the page of a run needs besides the REST API.

- `GET /runs/{run_id}/story`: the run with the checklist it was dispatched with (viewers).
- `GET /runs/{run_id}/link`: the link for the executor, also as a QR code. Whoever has it can answer: not for viewers.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

import segno
from aiohttp import web

from checklist_crds.photos.urls import PhotoUrl
from checklist_crds.resources.organization import Role
from checklist_crds.times import Clock, format_optional

from ..auth.gate import Caller
from ..auth.members import MemberDirectory
from ..http.responses import json_response
from ..runs.access import RunAccess
from ..runs.routes import RunLink
from .run_story import story_view
from .table import Route

_NOT_STORED: Final = {"Cache-Control": "no-store"}


class RunStoryRoutes:
    """One method for each operation. Both raise RunNotFound, for a foreign run as for one that is not there."""

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
        link = self._run_link(caller.organization.id, run.name)
        answer = {"link": link, "expires_at": format_optional(run.expires_at), "qr": qr_code(link)}
        return json_response(answer, headers=_NOT_STORED)


def qr_code(text: str) -> dict[str, Any]:
    """`{size, path}`: the dark modules as the `d` of an SVG path on a grid of size x size, without the quiet zone."""
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
