"""Building blocks of OpenAPI operations, and what operations of a kind share."""

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
from checklist_crds.limits.caps import LimitName, limit_reached

from .example_values import EVENT_ID, PHOTO_ID, QUOTA, REPLAY_ID, REQUEST_ID, RUN_ID, SIGN_IN, TEMPLATE_ID, Json
from .middleware import MAX_REQUEST_ID, REQUEST_ID_CHARACTERS
from .pagination import MAX_PAGE, invalid_parameter


class Access(StrEnum):
    """What a caller has to show."""

    KEY = "bearerKey"
    TOKEN = "executorToken"  # noqa: S105 - a scheme's name
    """In runs for members with a session, too."""
    SESSION = "memberSession"
    NOTHING = ""
    UNLIMITED = "-"
    """Nothing, and not rate limited: what the service says about itself."""


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON request body. `partial`: a merge patch of the model."""

    model: type[BaseModel]
    examples: Mapping[str, Json]
    required: bool = True
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Upload:
    """A request body that is one image, or a form with one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer (or the one operation's own failure). Without model and media type it has no body; several
    media types are separated by a comma and a space. JSON without a model is of `json_type`."""

    status: int
    description: str
    model: type[BaseModel] | None = None
    examples: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    json_type: str = "object"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path: `route`, as `get /v1/runs`. `errors`: those besides the ones that every operation of its
    kind has. `tag` and `access` are those of its group (`tagged`) where it names none."""

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
        """Every error of the operation, by status."""
        found: list[ServiceError] = list(self.errors)
        if isinstance(self.body, Body):
            found += [MalformedJson(), PayloadTooLarge(), UnsupportedMediaType()]
        elif self.body is not None:
            found += [
                MalformedJson("The body does not fit its Content-Encoding or Transfer-Encoding."),
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
                text = "The token of the run's link is missing or not valid."
                found.append(Unauthorized(text, headers={"WWW-Authenticate": "Executor"}))
                found.append(SignInRequired(details=SIGN_IN, headers={"WWW-Authenticate": "Cookie"}))
                found.append(AssignedToAnother())
                if self.method != "get":
                    found.append(RequestForged("The request does not come from the checklist's own page."))
        if self.access is not Access.UNLIMITED:
            found += [RateLimited(1), InternalError(), ServiceUnavailable()]
        return sorted(found, key=lambda error: error.status)


def tagged(tag: str, access: Access, *operations: Operation) -> tuple[Operation, ...]:
    """A group of operations, most of which have `access`."""
    return tuple(
        replace(each, tag=each.tag or tag, access=access if each.access is None else each.access) for each in operations
    )


REPLY_HEADERS: Final[dict[str, str]] = {
    "ETag": "Of a template: its version in quotes, for If-Match. Of a photo: for If-None-Match.",
    "Location": "The path of what was made; of a photo: its signed address.",
    "Content-Disposition": "A file name, should it be saved.",
    "Export-Incomplete": "`damaged` when a part of the archive is: its runs are not in the file. Absent otherwise.",
    "Export-Runs": "How many runs fitted the filters when the export began.",
    "Content-Security-Policy": "Nothing but the image: no script, no frame, no other address.",
    "X-Content-Type-Options": "`nosniff`.",
    "Cache-Control": "Of an image: private, until the address expires. `no-store` elsewhere.",
    "X-Generated-By": "`composer` or `model`; `composer; reason=model_timeout` (or another reason) when the model of "
    "the service made none.",
    "Idempotency-Replayed": "`true` when this is the answer to an earlier request with the same Idempotency-Key.",
    "Retry-After": "Whole seconds, at least 1, after which to try again. Under load (`details` of 503: `overloaded`) "
    "they grow with the requests that were refused.",
    "WWW-Authenticate": "The scheme that is asked for.",
    "X-Request-Id": "The id of this request: yours, if you sent one, else a new one. Also in error bodies.",
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
        ("template_id", "Id of the template, `t-<uuid>`.", TEMPLATE_ID),
        ("version", "Number of the version, from 1.", "1"),
        ("run_id", "Id of the run, `r-<uuid>`.", RUN_ID),
        ("step_id", "Id of the step, `s-<short id>`.", "s-fridge-temp"),
        ("folder", "A folder of the app, as its page refers to it.", "assets"),
        ("photo_id", "Id of the photo, a UUID.", PHOTO_ID),
        ("event_id", "Id of the event, `evt-<uuid>`.", EVENT_ID),
        ("replay_id", "Id of the replay, as it was given when it was asked for.", REPLAY_ID),
        ("name", "Name of the file, as the pages refer to it.", "style.css"),
    )
}
REQUEST_ID_HEADER: Final = header(
    "X-Request-Id",
    {"type": "string"},
    f"Your own id for the request; it comes back in the answer and in error bodies. 1 to {MAX_REQUEST_ID} characters "
    f"of `{REQUEST_ID_CHARACTERS}`; anything else is replaced by a new id.",
    REQUEST_ID,
)


def problem(path: str, code: str, message: str) -> Problem:
    return Problem(path, code, message)


def error_body(error: ServiceError) -> Json:
    """An example of the error as the service writes it."""
    if isinstance(error, QuotaExceeded) and error.details is None:
        error = QuotaExceeded(details={**QUOTA, "used": QUOTA["limit"]})
    return error.as_body() | {"request_id": REQUEST_ID}


IDEMPOTENCY_KEY: Final = header(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "Made by you, one for each wish. Within 24 hours the same key with the same body gives the first answer again, "
    "makes nothing and uses no quota; 410 `resource_deleted` when what it made was deleted.",
    "order-4711",
)
PAGES: Final = (
    query("page", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}, "Which page."),
    query("per_page", {"type": "integer", "minimum": 1, "default": 20}, "Entries on a page; at most 100 are given."),
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
"""Of operations that count their keys: those that make anything but runs."""
