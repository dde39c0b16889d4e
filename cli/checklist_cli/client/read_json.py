"""One read of the REST API: a GET, tried again while the service is too busy or does not answer."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..console.command import CommandFailed
from ..console.terminal import plain

if TYPE_CHECKING:
    import httpx

ATTEMPTS: Final = 5
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_MESSAGE: Final = 500


class Refused(CommandFailed):
    """The service answered with an error: its status, its code, and its message as one printable line."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"the service answers {status}: {message}")
        self.status = status
        self.code = code
        self.message = message


def read_json(client: "httpx.Client", path: str, *, pause: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """The object that the service answers with. Raises Refused and CommandFailed, which never hold the key."""
    import httpx

    for number in range(1, ATTEMPTS + 1):
        try:
            response = client.get(path)
        except httpx.InvalidURL:
            raise CommandFailed("the server's address is none") from None
        except httpx.HTTPError as error:
            failure, after_s = CommandFailed(f"the service does not answer: {type(error).__name__}"), None
        else:
            body = _object(response)
            if response.status_code == httpx.codes.OK:
                if body is None:
                    raise CommandFailed("the service answers with what is no JSON object")
                return body
            failure, after_s = _refusal(response.status_code, body), _retry_after_s(response)
            if response.status_code not in _AGAIN:
                raise failure
        if number == ATTEMPTS:
            raise failure
        pause(min(after_s or _PAUSE_S * 2 ** (number - 1), _LONGEST_PAUSE_S))
    raise AssertionError("the last attempt returns or raises")


def _object(response: "httpx.Response") -> dict[str, Any] | None:
    try:
        body = response.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _refusal(status: int, body: dict[str, Any] | None) -> CommandFailed:
    message, code = (body or {}).get("message"), (body or {}).get("error")
    text = plain(message)[:_LONGEST_MESSAGE] if isinstance(message, str) and message else "nothing that could be read"
    return Refused(status, code if isinstance(code, str) else "", text)


def _retry_after_s(response: "httpx.Response") -> float | None:
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isdecimal() else None
