"""Authorizes the executor API: the token of the run, and rate limits of address and run."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from aiohttp import web

from checklist_crds.errors import InvalidParameter, Problem, RunNotFound, Unauthorized
from checklist_crds.ids import object_id
from checklist_crds.secrets.sealing import ServerKeys, is_executor_token, is_unbound_token
from checklist_crds.times import readable_timestamp

from ..auth.gate import Gate
from ..cluster.call_queue import charge_to
from ..http.op_id import op_id_problem
from ..index.runs import RunIndex
from ..organizations.directory import Organization, OrganizationDirectory
from ..runs.access import RunAccess

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

BASE: Final = "/v1/executor/runs/{run_id}"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_ORGANIZATION: Final = web.RequestKey("link_owner", Organization)


class LinkOwners:
    """Finds the organization of a run's link by its token.

    Runs of several organizations may have the same id (names of applied objects are free), but their tokens differ.
    Tokens of versions before 0.1.0 are bound to the run id only and open only runs of that time.
    """

    def __init__(
        self, keys: ServerKeys, organizations: OrganizationDirectory, index: RunIndex, runs: RunAccess
    ) -> None:
        self._keys = keys
        self._organizations = organizations
        self._index = index
        self._runs = runs

    async def of(self, run_id: str, token: str) -> Organization | None:
        """Return the organization; None for an invalid token. Raises RunNotFound, KubeError and ServiceUnavailable.

        Works for a deleted run, too, so that the bearer of its link learns that it is gone.
        """
        owners = set(self._index.owners_of(run_id).values())
        others = [organization.name for organization in self._organizations.all() if organization.name not in owners]
        # Organizations that are not cached yet are checked by their id, which is derived from the name.
        for name in (*owners, *others):
            if is_executor_token(self._keys, object_id("org", name), run_id, token):
                return await self._organizations.get(name)
        if is_unbound_token(self._keys, run_id, token):
            return await self._of_unbound(run_id)
        return None if owners else await self._of_unknown(run_id, token)

    async def _of_unbound(self, run_id: str) -> Organization | None:
        run = await self._runs.by_id(run_id)
        return None if run.admitted_as.bound else await self._organizations.get(run.admitted_as.organization)

    async def _of_unknown(self, run_id: str, token: str) -> Organization | None:
        """Look the run up, in case another process has just created it or its organization."""
        try:
            run = await self._runs.by_id(run_id)
        except RunNotFound:
            return None
        organization = await self._organizations.get(run.admitted_as.organization)
        is_its = organization is not None and is_executor_token(self._keys, organization.id, run_id, token)
        return organization if is_its else None


class ExecutorGate:
    """Guards routes of the executor API."""

    def __init__(self, gate: Gate, link_owners: LinkOwners) -> None:
        self._gate = gate
        self._link_owners = link_owners

    def guarded(self, handler: Handler, *, counted: bool = True) -> Handler:
        """Guard a route: rate limited by address, token of the run, rate limited by run (shared by all addresses that
        use the token). `counted`: False if the handler counts for the run."""

        async def authorized(request: web.Request) -> web.StreamResponse:
            request[_ORGANIZATION] = await self._organization(request)
            if counted:
                await self._gate.count_run(request.match_info["run_id"])
            return await handler(request)

        return self._gate.public(authorized)

    async def _organization(self, request: web.Request) -> Organization:
        """Return the organization of the token's run. Raises Unauthorized, the same for all causes, also for a run that
        does not exist."""
        given = request.headers.getall("Authorization", [])
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        run_id = request.match_info["run_id"]
        organization = None
        if scheme.lower() == "executor" and _TOKEN.fullmatch(token) is not None and run_id.isascii():
            organization = await self._link_owners.of(run_id, token)
        if organization is None:
            raise Unauthorized(
                "The token of the run's link is missing or invalid.", headers={"WWW-Authenticate": "Executor"}
            )
        charge_to(organization.name)
        return organization


def organization_of(request: web.Request) -> Organization:
    """Return the organization of the request's run, in guarded handlers."""
    return request[_ORGANIZATION]


def requested_given_at(request: web.Request) -> datetime | None:
    """Return `given_at` of the query, for requests without a JSON body. Raises InvalidParameter."""
    given = request.query.getall("given_at", [])
    if not given:
        return None
    moment = readable_timestamp(given[0]) if len(given) == 1 else None
    if moment is None:
        problem = Problem("given_at", "invalid_timestamp", "Must be a timestamp such as 2026-11-21T13:50:00Z.")
        raise InvalidParameter(details=[problem])
    return moment


def requested_op_id(request: web.Request) -> str | None:
    """Return the op_id of query or header; the body may have it, too. Raises InvalidParameter."""
    given = {*request.query.getall("op_id", []), *request.headers.getall("Op-Id", [])}
    if len(given) > 1:
        problem = Problem("op_id", "ambiguous", "op_id is given with different values.")
        raise InvalidParameter(details=[problem])
    op_id = next(iter(given), None)
    if op_id is not None and (wrong := op_id_problem(op_id)):
        raise InvalidParameter(details=[wrong])
    return op_id
