"""Building blocks of OpenAPI operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel

from checklist_crds.errors import (
    AssignedToAnother,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InternalError,
    MalformedJson,
    MissingField,
    PayloadTooLarge,
    Problem,
    QuotaExceeded,
    RateLimited,
    RequestForged,
    ResourceDeleted,
    ServiceError,
    ServiceUnavailable,
    SignInRequired,
    Unauthorized,
    UnsupportedMediaType,
)
from checklist_crds.limits.organization_limits import LimitName, limit_reached

from .examples import Json, examples
from .middleware import MAX_REQUEST_ID, REQUEST_ID_CHARACTERS
from .pagination import MAX_PAGE, invalid_parameter


class Access(StrEnum):
    """Required credentials."""

    KEY = "bearerKey"
    TOKEN = "executorToken"  # noqa: S105 - a scheme's name
    """For runs for members also a session."""
    SESSION = "memberSession"
    NOTHING = ""
    UNLIMITED = "-"
    """None, and not rate limited."""


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON request body. `partial`: a merge patch of the model."""

    model: type[BaseModel]
    examples: Mapping[str, Json]
    required: bool = True
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """An image, or a form with one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful response (or the operation's own failure). Without model and media type it has no body; media types
    are separated by a comma and a space. `json_type` is the type of a JSON body without a model."""

    status: int
    description: str
    model: type[BaseModel] | None = None
    examples: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    json_type: str = "object"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation. `route`: `get /v1/runs`. `errors`: in addition to those of `access` and `body`. `tag` and `access`
    default to those of the group (`tagged`)."""

    route: str
    id: str
    summary: str
    reply: Reply | tuple[Reply, ...]
    description: str = ""
    parameters: tuple[Json, ...] = ()
    body: Body | Upload | None = None
    errors: tuple[ServiceError, ...] = ()
    tag: str = ""
    access: Access | None = None

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]

    @property
    def replies(self) -> tuple[Reply, ...]:
        return self.reply if isinstance(self.reply, tuple) else (self.reply,)

    def all_errors(self) -> list[ServiceError]:
        """Return all errors of the operation, sorted by status."""
        found: list[ServiceError] = list(self.errors)
        if isinstance(self.body, Body):
            found += [MalformedJson(), PayloadTooLarge(), UnsupportedMediaType()]
        elif self.body is not None:
            found += [
                MalformedJson("The body does not match its Content-Encoding or Transfer-Encoding."),
                MissingField(details=[problem("photo", "missing", "This field is required.")]),
                PayloadTooLarge("A photo may have at most 10 MiB."),
                UnsupportedMediaType(
                    "The body must be an image, sent as image/* or application/octet-stream, or a form with one."
                ),
            ]
        match self.access:
            case Access.KEY:
                found.append(Unauthorized(headers={"WWW-Authenticate": "Bearer"}))
            case Access.TOKEN:
                text = "The token of the run's link is missing or invalid."
                found.append(Unauthorized(text, headers={"WWW-Authenticate": "Executor"}))
                found.append(SignInRequired(details=examples.SIGN_IN, headers={"WWW-Authenticate": "Cookie"}))
                found.append(AssignedToAnother())
                if self.method != "get":
                    found.append(RequestForged("The request was not made by the checklist's page."))
        if self.access is not Access.UNLIMITED:
            found += [RateLimited(1), InternalError(), ServiceUnavailable()]
        return sorted(found, key=lambda error: error.status)


def tagged(tag: str, access: Access, *operations: Operation) -> tuple[Operation, ...]:
    """Set default tag and access of a group of operations."""
    return tuple(
        replace(each, tag=each.tag or tag, access=access if each.access is None else each.access) for each in operations
    )


REPLY_HEADERS: Final[dict[str, str]] = {
    "ETag": "For a template: its version in quotes, for If-Match. For a photo: for If-None-Match.",
    "Location": "Path of the created object; for a photo its signed URL.",
    "Content-Disposition": "File name.",
    "Content-Language": "Language of the document.",
    "Export-Incomplete": "`damaged` if a part of the archive is damaged and its runs are missing; else absent.",
    "Export-Runs": "Number of matching runs when the export began.",
    "Content-Security-Policy": "Allows the image only.",
    "Vary": "Request headers on which the content depends.",
    "X-Content-Type-Options": "`nosniff`.",
    "Cache-Control": "For an image: private, until the URL expires. Otherwise `no-store`.",
    "X-Generated-By": "`composer` or `model`; `composer; reason=model_timeout` (or another reason) if the language "
    "model failed.",
    "Idempotency-Replayed": "`true` if this is the response to an earlier request with the same Idempotency-Key.",
    "Retry-After": "Seconds to wait before a retry, at least 1. Under load (`details` of 503: `overloaded`) the value "
    "grows with the number of refused requests.",
    "WWW-Authenticate": "The required scheme.",
    "X-Request-Id": "Id of the request: yours, or a generated one. Also in error bodies.",
}


def query(name: str, schema: Json, description: str, example: Any = None) -> Json:
    parameter = {"name": name, "in": "query", "required": False, "schema": schema, "description": description}
    return parameter if example is None else parameter | {"example": example}


def header(name: str, schema: Json, description: str, example: Any = None) -> Json:
    return query(name, schema, description, example) | {"in": "header"}


PATH_PARAMETERS: Final[dict[str, Json]] = {
    name: {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": description,
        "example": example,
    }
    for name, description, example in (
        ("template_id", "Id of the template, `t-<uuid>`.", examples.TEMPLATE_ID),
        ("version", "Number of the version, from 1.", "1"),
        ("run_id", "Id of the run, `r-<uuid>`.", examples.RUN_ID),
        ("step_id", "Id of the step, `s-<short id>`.", "s-fridge-temp"),
        ("folder", "Folder of the app.", "assets"),
        ("photo_id", "Id of the photo, a UUID.", examples.PHOTO_ID),
        ("event_id", "Id of the event, `evt-<uuid>`.", examples.EVENT_ID),
        ("replay_id", "Id of the replay.", examples.REPLAY_ID),
        ("name", "Name of the file.", "style.css"),
    )
}
REQUEST_ID_HEADER: Final = header(
    "X-Request-Id",
    {"type": "string"},
    f"Your id for the request; returned in the response and in error bodies. 1 to {MAX_REQUEST_ID} characters of "
    f"`{REQUEST_ID_CHARACTERS}`; any other value is replaced by a new id.",
    examples.REQUEST_ID,
)


def problem(path: str, code: str, message: str) -> Problem:
    return Problem(path, code, message)


def error_body(error: ServiceError) -> Json:
    """Return an example of the error's body."""
    if isinstance(error, QuotaExceeded) and error.details is None:
        error = QuotaExceeded(details={**examples.QUOTA, "used": examples.QUOTA["limit"]})
    return error.as_body() | {"request_id": examples.REQUEST_ID}


IDEMPOTENCY_KEY: Final = header(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "Unique key of the request, chosen by the client. For 24 hours a request with the same key and body returns the "
    "first response, creates nothing and uses no quota; 410 `resource_deleted` if the created object was deleted.",
    "order-4711",
)
PAGES: Final = (
    query("page", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}, "Page number."),
    query("per_page", {"type": "integer", "minimum": 1, "default": 20}, "Entries per page, at most 100."),
)
DATE_TIME: Final = {"type": "string", "format": "date-time"}
BAD_PAGE: Final = invalid_parameter("page", "must be an integer from 1")
IDEMPOTENCY_ERRORS: Final = (
    invalid_parameter("Idempotency-Key", "must be 1 to 255 visible ASCII characters"),
    IdempotencyInProgress(),
    ResourceDeleted(),
    IdempotencyKeyReused(),
)
COUNTED_KEY_ERRORS: Final = (
    limit_reached(LimitName.IDEMPOTENCY_KEYS, limit=10_000, used=10_000),
    *IDEMPOTENCY_ERRORS,
)
"""Errors of operations that create other objects than runs and count their keys."""
