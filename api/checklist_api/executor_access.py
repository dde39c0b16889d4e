"""Who may call the executor API: the bearer of the run's token, within the rates of an address and of a run."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from checklist_crds import sealing
from checklist_crds.errors import InvalidParameter, Problem, Unauthorized

from . import executor_commands as commands
from .services import Services

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class ExecutorGate:
    """Lets in who has the link."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def guarded(self, handler: Handler) -> Handler:
        """Limited per address, for bearers of the run's token, and limited per run: with a token that was passed on,
        many addresses together get no further than one."""

        async def authorized(request: web.Request) -> web.StreamResponse:
            self._check_token(request)
            await self._services.gate.count_run(request.match_info["run_id"])
            return await handler(request)

        return self._services.gate.public(authorized)

    def _check_token(self, request: web.Request) -> None:
        """Raises Unauthorized. One answer for whatever is wrong, also for a run that does not exist."""
        given = request.headers.getall("Authorization", [])
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        run_id = request.match_info["run_id"]
        right = (
            scheme.lower() == "executor"
            and _TOKEN.fullmatch(token) is not None
            and run_id.isascii()
            and sealing.is_executor_token(self._services.settings.server_key, run_id, token)
        )
        if not right:
            raise Unauthorized(
                "The token of the run's link is missing or not valid.", headers={"WWW-Authenticate": "Executor"}
            )


def given_op_id(request: web.Request) -> str | None:
    """The op_id of the query or the header; a body may have it too. Raises InvalidParameter."""
    given = {*request.query.getall("op_id", []), *request.headers.getall("Op-Id", [])}
    if len(given) > 1:
        problem = Problem("op_id", "ambiguous", "It is given more than once, and not the same.")
        raise InvalidParameter(details=[problem])
    op_id = next(iter(given), None)
    if op_id is not None and (wrong := commands.op_id_problem(op_id)):
        raise InvalidParameter(details=[wrong])
    return op_id
