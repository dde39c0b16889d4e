"""How the commands reach the REST API: options, connection, and what the service refuses as one line for a person."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..console.command import CommandFailed
from ..console.terminal import plain
from ..console.values import url
from .api_key import KEY_VARIABLE

if TYPE_CHECKING:
    import httpx

SERVER_VARIABLE: Final = "CHECKLISTS_BASE_URL"
_CONNECT_WITHIN_S: Final = 10.0
_MAX_PRINTED: Final = 500
_AGAIN: Final = frozenset({429, 502, 503, 504})


def add_service_options(parser: ArgumentParser) -> None:
    """--server and --key-file."""
    service = parser.add_argument_group("the service")
    service.add_argument(
        "--server",
        metavar="URL",
        type=url,
        default=os.environ.get(SERVER_VARIABLE) or None,
        help=f"its base address (default: {SERVER_VARIABLE})",
    )
    service.add_argument("--key-file", type=Path, metavar="FILE", help=f"the API key's file (default: ${KEY_VARIABLE})")


def required_server(options: Namespace) -> str:
    """Raises CommandFailed."""
    if options.server is None:
        raise CommandFailed(f"which service? Give --server, or set {SERVER_VARIABLE}")
    return str(options.server)


class TryAgain(Exception):
    """The request may succeed later: after `after_s` seconds, where the service gives a time."""

    def __init__(self, why: str, after_s: float | None = None) -> None:
        super().__init__(why)
        self.after_s = after_s


def client_of(server: str, key: str, *, next_byte_within_s: float) -> "httpx.Client":
    """Raises CommandFailed."""
    import httpx

    try:
        return httpx.Client(
            base_url=server.rstrip("/"),
            headers={"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(next_byte_within_s, connect=_CONNECT_WITHIN_S),
            trust_env=False,
        )
    except httpx.InvalidURL:
        raise CommandFailed("the server's address is none") from None


def refusal(response: "httpx.Response") -> CommandFailed | TryAgain:
    """An answer that is no success, as the exception that tells whether to ask again."""
    try:
        body: Any = (response.read(), response.json())[1]
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}
    text = f"the service answers {response.status_code}: {_printable(body.get('message'))}{_problems(body)}"
    if response.status_code not in _AGAIN and body.get("error") != "idempotency_in_progress":
        return CommandFailed(text)
    after = response.headers.get("Retry-After", "")
    return TryAgain(text, float(after) if after.isdecimal() else None)


def _problems(body: dict[str, Any]) -> str:
    """The messages of `details`, which say what is wrong where."""
    details = body.get("details")
    problems = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    texts = [f"{each.get('path')}: {each['message']}" for each in problems if isinstance(each.get("message"), str)]
    return f" ({_printable('; '.join(texts))})" if texts else ""


def _printable(text: object) -> str:
    return plain(text)[:_MAX_PRINTED] if isinstance(text, str) and text else "nothing that could be read"
