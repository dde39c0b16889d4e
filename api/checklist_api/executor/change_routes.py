"""`GET changes`: tells the page of a run when another device has changed it.

The page waits in one request, which costs no read of the cluster while it lasts, and reads the run when the number of
changes is another one than it knows.
"""

import time
from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import InvalidParameter, Problem
from checklist_crds.resources.run import IdentityMode
from checklist_crds.runs.lifecycle import require_assignee

from ..http.json_body import json_response
from ..http.middleware import add_waited
from ..http.server import on_connection_lost
from ..index.runs import RunIndex
from ..metrics import Metrics
from ..organizations.directory import Organization
from ..runs.access import RunAccess
from ..runs.change_readers import ChangeReaders, WatchedRun
from ..runs.waiting import LONGEST_WAIT_S
from .access import BASE, ExecutorGate, organization_of
from .member import ExecutorMembers
from .models import RunChangeCount

CHANGES: Final = f"{BASE}/changes"


@define(kw_only=True, eq=False, repr=False, slots=False)
class ChangeRoutes:
    _runs: RunAccess
    _index: RunIndex
    _changes: ChangeReaders
    _members: ExecutorMembers
    _metrics: Metrics

    def add_to(self, router: web.UrlDispatcher, gate: ExecutorGate) -> None:
        router.add_get(CHANGES, gate.guarded(self.wait))

    async def wait(self, request: web.Request) -> web.StreamResponse:
        """Answer when the run has more than `after` changes, else after `wait` seconds."""
        run_id, organization = request.match_info["run_id"], organization_of(request)
        after, seconds = _number(request, "after"), _number(request, "wait", LONGEST_WAIT_S)
        owners = self._index.owners_of(run_id)
        places = self._index.places_of(run_id)
        key = next((place for place in places if owners[place[0]] == organization.name), None)
        if key is None:  # archived, or just created by another process
            return _answer(run_id, await self._read(request, run_id, organization, WatchedRun(run_id)))
        with self._changes.reading(key, run_id) as watched:
            if watched.changes is None or watched.for_members:
                await self._read(request, run_id, organization, watched)
            started = time.perf_counter()
            with self._metrics.change_readers.track_inprogress():
                await self._wait(request, watched, after, seconds)
            add_waited(request, time.perf_counter() - started)
        if watched.gone:
            return _answer(run_id, await self._read(request, run_id, organization, WatchedRun(run_id)))
        return _answer(run_id, watched)

    async def _wait(self, request: web.Request, watched: WatchedRun, after: int, seconds: int) -> None:
        """Raises ConnectionResetError as soon as the client disconnects, so that it takes no place of a reader."""
        is_lost = False

        def leave() -> None:
            nonlocal is_lost
            is_lost = True
            watched.wake()

        with on_connection_lost(request, leave):
            await self._changes.wait(watched, after, seconds, has_left=lambda: is_lost)
        if is_lost:
            raise ConnectionResetError("the client disconnected")

    async def _read(
        self, request: web.Request, run_id: str, organization: Organization, watched: WatchedRun
    ) -> WatchedRun:
        """Read the run and check access. Raises RunNotFound, SignInRequired, AssignedToAnother, KubeError."""
        run = await self._runs.of_organization(run_id, organization)
        member = await self._members.answering(request, run)
        require_assignee(run, None if member is None else member.id)
        watched.for_members = run.admitted_as.identity_mode is IdentityMode.MEMBER
        watched.note(run.status.changes)
        return watched


def _answer(run_id: str, watched: WatchedRun) -> web.Response:
    return json_response(RunChangeCount(run_id=run_id, changes=watched.changes or 0))


def _number(request: web.Request, name: str, largest: int | None = None) -> int:
    """Parse a whole number of the query, 0 if absent. Raises InvalidParameter."""
    given = request.query.getall(name, ["0"])
    text = given[0] if len(given) == 1 else ""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1
    if number < 0 or (largest is not None and number > largest):
        limit = "from 0 on" if largest is None else f"from 0 to {largest}"
        raise InvalidParameter(details=[Problem(name, "out_of_range", f"Must be a whole number {limit}.")])
    return number
