"""Authorizes the executor API: the bearer of the run's token, within the rates of an address and of a run."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from checklist_crds.errors import InvalidParameter, Problem, Unauthorized

from ..auth.gate import Gate
from ..cluster.call_queue import charge_to
from ..http.op_id import op_id_problem
from ..organizations.directory import Organization
from ..runs.link_owner import LinkOwners

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

BASE: Final = "/v1/executor/runs/{run_id}"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_ORGANIZATION: Final = web.RequestKey("link_owner", Organization)


class ExecutorGate:
    """Lets in who has the link."""

    def __init__(self, gate: Gate, link_owners: LinkOwners) -> None:
        self._gate = gate
        self._link_owners = link_owners

    def guarded(self, handler: Handler, *, counted: bool = True) -> Handler:
        """Limited per address, for bearers of the run's token, and limited per run: with a token that was passed on,
        many addresses together get no further than one. `counted`: False where the handler counts for the run."""

        async def authorized(request: web.Request) -> web.StreamResponse:
            request[_ORGANIZATION] = await self._organization(request)
            if counted:
                await self._gate.count_run(request.match_info["run_id"])
            return await handler(request)

        return self._gate.public(authorized)

    async def _organization(self, request: web.Request) -> Organization:
        """Whose run the token opens. Raises Unauthorized: one answer for whatever is wrong, also for a run that does
        not exist."""
        given = request.headers.getall("Authorization", [])
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        run_id = request.match_info["run_id"]
        organization = None
        if scheme.lower() == "executor" and _TOKEN.fullmatch(token) is not None and run_id.isascii():
            organization = await self._link_owners.of(run_id, token)
        if organization is None:
            raise Unauthorized(
                "The token of the run's link is missing or not valid.", headers={"WWW-Authenticate": "Executor"}
            )
        charge_to(organization.name)
        return organization


def organization_of(request: web.Request) -> Organization:
    """The one whose run the bearer of the link has in hands; for handlers that the gate guards."""
    return request[_ORGANIZATION]


def given_op_id(request: web.Request) -> str | None:
    """The op_id of the query or the header; a body may have it too. Raises InvalidParameter."""
    given = {*request.query.getall("op_id", []), *request.headers.getall("Op-Id", [])}
    if len(given) > 1:
        problem = Problem("op_id", "ambiguous", "It is given more than once, and not the same.")
        raise InvalidParameter(details=[problem])
    op_id = next(iter(given), None)
    if op_id is not None and (wrong := op_id_problem(op_id)):
        raise InvalidParameter(details=[wrong])
    return op_id
