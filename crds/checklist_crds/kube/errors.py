"""Errors of calls to the Kubernetes API; aiohttp's errors never leave this package.

::

    KubeError
    ├── KubeUnavailable    no answer, or a temporary refusal (401, 429, 5xx)
    │   ├── KubeOutcomeUnknown  a write may or may not be done
    │   ├── KubeContended       concurrent writes at every try
    │   └── KubeOverloaded      refused before it was sent: too many calls wait
    ├── KubeNotFound       404
    ├── KubeAlreadyExists  409 on create
    ├── KubeConflict       409 on a conditional write, 422 for an inapplicable JSON Patch: read and decide again
    ├── KubeInvalid        400, 413, 422: the object is refused, with the server's reason
    ├── KubeForbidden      403: the service account lacks a permission
    └── KubeGone           410: the resource version is too old; list again
"""

from collections.abc import Mapping
from typing import Any


class KubeError(Exception):
    """Base. `message` is the server's text."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class KubeUnavailable(KubeError):
    """No usable answer."""


class KubeOutcomeUnknown(KubeUnavailable):
    """A write was sent without an answer: it may have been done."""


class KubeContended(KubeUnavailable):
    """Others changed the object between each read and write. Nothing was written."""


class KubeOverloaded(KubeUnavailable):
    """Refused by our own queue before anything was sent; retry after `retry_after_s` seconds."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too many calls of the Kubernetes API wait", status=429)
        self.retry_after_s = retry_after_s


class KubeNotFound(KubeError):
    pass


class KubeAlreadyExists(KubeError):
    pass


class KubeConflict(KubeError):
    pass


class KubeInvalid(KubeError):
    pass


class KubeForbidden(KubeError):
    pass


class KubeGone(KubeError):
    pass


def from_status(status: int, body: Mapping[str, Any]) -> KubeError:
    """Returns the error for an HTTP status and its Status object."""
    message = str(body.get("message") or f"the Kubernetes API answered {status}")
    match status:
        case 404:
            return KubeNotFound(message, status=status)
        case 409:
            exists = body.get("reason") == "AlreadyExists"
            return (KubeAlreadyExists if exists else KubeConflict)(message, status=status)
        case 422 if _is_inapplicable_patch(body):
            return KubeConflict(message, status=status)
        case 400 | 413 | 422:
            return KubeInvalid(message, status=status)
        case 403:
            return KubeForbidden(message, status=status)
        case 410:
            return KubeGone(message, status=status)
        case _:  # including 401: a token that is renewed late, or of a terminating pod
            return KubeUnavailable(message, status=status)


def _is_inapplicable_patch(body: Mapping[str, Any]) -> bool:
    """Whether a JSON Patch could not be applied to the current object; an invalid object names its kind."""
    return not (body.get("details") or {}).get("kind")
