"""The connection of the commands to the REST API: options, HTTP client, and errors of the service as exceptions."""

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
_MAX_MESSAGE: Final = 500
_RETRIED: Final = frozenset({429, 502, 503, 504})


class Refused(CommandFailed):
    """An error response that a retry does not change. `code` and `message` come from its body, `message` printable."""

    def __init__(self, text: str, *, code: str, message: str) -> None:
        super().__init__(text)
        self.code = code
        self.message = message


class Retryable(Exception):
    """A failure to retry, after `after_s` seconds if the service said so."""

    def __init__(self, why: str, after_s: float | None = None) -> None:
        super().__init__(why)
        self.after_s = after_s


def add_service_options(parser: ArgumentParser) -> None:
    """--server and --key-file."""
    service = parser.add_argument_group("the service")
    service.add_argument(
        "--server",
        metavar="URL",
        type=url,
        default=os.environ.get(SERVER_VARIABLE) or None,
        help=f"base URL of the service (default: {SERVER_VARIABLE})",
    )
    service.add_argument("--key-file", type=Path, metavar="FILE", help=f"the API key's file (default: ${KEY_VARIABLE})")


def required_server(options: Namespace) -> str:
    """Raises CommandFailed."""
    if options.server is None:
        raise CommandFailed(f"give --server, or set {SERVER_VARIABLE}")
    return str(options.server)


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
        raise CommandFailed("the server's address is not a valid URL") from None


def refusal(response: "httpx.Response") -> Refused | Retryable:
    """The service's error as an exception: Retryable if a retry can help."""
    try:
        body: Any = (response.read(), response.json())[1]
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}
    code, message = body.get("error"), _printable(body.get("message"))
    text = f"the service answers {response.status_code}: {message}{_problems(body)}"
    if response.status_code not in _RETRIED and code != "idempotency_in_progress":
        return Refused(text, code=code if isinstance(code, str) else "", message=message)
    after = response.headers.get("Retry-After", "")
    return Retryable(text, float(after) if after.isdecimal() else None)


def _problems(body: dict[str, Any]) -> str:
    """Paths and messages of `details`, in parentheses."""
    details = body.get("details")
    problems = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    texts = [f"{each.get('path')}: {each['message']}" for each in problems if isinstance(each.get("message"), str)]
    return f" ({_printable('; '.join(texts))})" if texts else ""


def _printable(text: object) -> str:
    return plain(text)[:_MAX_MESSAGE] if isinstance(text, str) and text else "no readable message"
