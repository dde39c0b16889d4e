"""Assembles the OpenAPI 3.1 document from operations and models, and serves it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel

from checklist_crds.errors import ServiceError
from checklist_crds.values.json_text import to_json

from ..dashboard.access import COOKIE
from ..deliveries import event_models as events
from ..deliveries.operations import DELIVERY_OPERATIONS
from ..executor.operations import EXECUTOR_OPERATIONS, OP_ID_SCHEMA
from ..executor.photo_operations import PHOTO_OPERATIONS
from ..executor.receipt.operations import RECEIPT_OPERATIONS
from ..exports.operations import EXPORT_OPERATIONS
from ..http.examples import examples
from ..http.models import Error
from ..http.operations import (
    PATH_PARAMETERS,
    REPLY_HEADERS,
    REQUEST_ID_HEADER,
    Access,
    Body,
    Operation,
    Reply,
    Upload,
    error_body,
)
from ..photos.upload_body import ANY_BYTES, FORM
from ..runs.operations import RUN_OPERATIONS
from ..templates.operations import TEMPLATE_OPERATIONS
from .schema import Schema, component_schemas, reference, without_required
from .service_operations import SERVICE_OPERATIONS

API_VERSION: Final = "1.0.0"
OPERATIONS: Final = (
    *TEMPLATE_OPERATIONS,
    *RUN_OPERATIONS,
    *EXPORT_OPERATIONS,
    *DELIVERY_OPERATIONS,
    *EXECUTOR_OPERATIONS,
    *RECEIPT_OPERATIONS,
    *PHOTO_OPERATIONS,
    *SERVICE_OPERATIONS,
)
EVENT_MODELS: Final[dict[str, type[BaseModel]]] = {
    "step.completed": events.StepCompletedEvent,
    "step.skipped": events.StepSkippedEvent,
    "run.completed": events.RunCompletedEvent,
    "run.cancelled": events.RunCancelledEvent,
    "run.expired": events.RunExpiredEvent,
}
_INTRODUCTION: Final = """\
Sends checklists to people and returns their answers. A **template** defines a checklist; **dispatching** it creates a
**run** and a link for one person, the **executor**; answers are read here or pushed as signed **webhook events**.

All errors have the same form: `error` is machine-readable, `message` is for people, `details` lists all problems. An
unsupported method gives 405 `method_not_allowed` with `Allow`, an unknown path 404 `not_found`. Fields may be added at
any time: ignore unknown ones."""
_TAGS: Final = {
    "Templates": "Definitions of checklists (TDL). Every change creates a version.",
    "Runs": "A checklist sent to one person.",
    "Exports": "Runs as files: CSV, JSON Lines, GeoJSON, PDF.",
    "Deliveries": "Attempts to send events, and replays.",
    "Usage": "The plan's monthly quota.",
    "Executor": "Operations of the person with the link. The token is the fragment of the link, sent as "
    "`Authorization: Executor <token>`. Each write may have an `op_id`, so that it can be repeated safely.",
    "Photos": "Images at signed URLs.",
    "Pages": "Pages for people, and this document.",
    "Operations": "For operators of the service.",
}
_IMAGES: Final = ("image/jpeg", "image/png", "image/webp", "image/heic", "application/octet-stream")
_SERVED: Final = ("image/jpeg", "image/png", "image/webp")
# OpenAPI 3.1 describes binary data by its media type only and ignores the format. Client generators need the format:
# without it they generate a text or an untyped body.
_BYTES: Final[dict[str, Any]] = {"type": "string", "format": "binary"}
_IMAGE_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["photo"],
    "properties": {
        "op_id": {**OP_ID_SCHEMA, "description": "Like in the query; before the file."},
        "photo": {
            "type": "string",
            "format": "binary",
            "contentMediaType": ANY_BYTES,
            "description": "The image as a file; the field may have any name.",
        },
    },
}
_SIGNATURE_HEADERS: Final = {
    "Content-Digest": "SHA-256 of the body (RFC 9530).",
    "Signature-Input": "Signed components, time and key (RFC 9421).",
    "Signature": "Signature with the secret of the run's webhook.",
}


def add_routes(router: web.UrlDispatcher, base_url: str) -> None:
    body = to_json(openapi_document(base_url))

    async def document(_: web.Request) -> web.Response:
        # The document is public, so tools of any site may read it.
        headers = {"Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*"}
        return web.Response(body=body, content_type="application/json", headers=headers)

    router.add_get("/v1/openapi.json", document)


@lru_cache(maxsize=4)
def openapi_document(base_url: str) -> dict[str, Any]:
    """Return the document for `base_url`, cached: do not modify it."""
    schemas = _schemas()
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Checklist Dispatch", "version": API_VERSION, "description": _INTRODUCTION},
        "servers": [{"url": base_url}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "webhooks": {name: _webhook(name, model, schemas) for name, model in EVENT_MODELS.items()},
        "components": {
            "schemas": schemas,
            "headers": {
                name: {"description": text, "schema": {"type": "string"}} for name, text in REPLY_HEADERS.items()
            },
            "parameters": {"X-Request-Id": REQUEST_ID_HEADER},
            "securitySchemes": {
                Access.KEY.value: {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "cds_live_ and 32 characters",
                    "description": "An API key, which acts for one organization: `Authorization: Bearer <key>`.",
                },
                Access.TOKEN.value: {
                    "type": "http",
                    "scheme": "Executor",
                    "description": "The fragment of the run's link: `Authorization: Executor <token>`.",
                },
                Access.SESSION.value: {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "The dashboard session of a member, which a run with `identity_required: member` "
                    "requires in addition to the token.",
                },
            },
        },
    }


def _schemas() -> dict[str, Schema]:
    bodies = [operation.body for operation in OPERATIONS if isinstance(operation.body, Body)]
    answers = {reply.model for operation in OPERATIONS for reply in operation.replies if reply.model is not None}
    everything: set[type[BaseModel]] = {*answers, *EVENT_MODELS.values(), Error}
    schemas = component_schemas({body.model: None for body in bodies}, sorted(everything, key=lambda it: it.__name__))
    for body in bodies:
        if body.partial:
            whole = reference(body.model, sent=True, schemas=schemas)["$ref"].rpartition("/")[2]
            patch = without_required(schemas[whole])
            patch["description"] = "Only included fields are changed (RFC 7396); null restores a default."
            schemas[f"{body.model.__name__}Patch"] = patch
    return dict(sorted(schemas.items()))


def _operation(operation: Operation, schemas: dict[str, Schema]) -> dict[str, Any]:
    path_parameters = [text for name, text in PATH_PARAMETERS.items() if f"{{{name}}}" in operation.path]
    document: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "security": _security(operation.access),
        "parameters": [*path_parameters, *operation.parameters, {"$ref": "#/components/parameters/X-Request-Id"}],
        "requestBody": _request_body(operation.body, schemas) if operation.body is not None else None,
        "responses": {str(reply.status): _reply(reply, schemas) for reply in operation.replies}
        | _errors(operation, {reply.status for reply in operation.replies}),
    }
    return {key: value for key, value in document.items() if value not in (None, "")}


def _security(access: Access | None) -> list[dict[str, list[str]]]:
    match access:
        case Access.KEY:
            return [{access.value: []}]
        case Access.TOKEN:
            return [{access.value: []}, {access.value: [], Access.SESSION.value: []}]
        case _:
            return []


def _request_body(body: Body | Upload, schemas: dict[str, Schema]) -> dict[str, Any]:
    if isinstance(body, Upload):
        content = {kind: {"schema": _BYTES} for kind in _IMAGES}
        return {"required": True, "content": {**content, FORM: {"schema": _IMAGE_FORM}}}
    schema = reference(body.model, sent=True, schemas=schemas)
    if body.partial:
        schema = {"$ref": f"#/components/schemas/{body.model.__name__}Patch"}
    content = {"schema": schema, "examples": _examples(body.examples)}
    media_types = ["application/json", *(["application/merge-patch+json"] if body.partial else [])]
    return {"required": body.required, "content": dict.fromkeys(media_types, content)}


def _reply(reply: Reply, schemas: dict[str, Schema]) -> dict[str, Any]:
    document: dict[str, Any] = {"description": reply.description, "headers": _headers(reply.headers)}
    if reply.model is not None:
        schema = reference(reply.model, schemas=schemas)
        document["content"] = {reply.media_type: {"schema": schema, "examples": _examples(reply.examples)}}
    elif reply.media_type == "image/*":
        document["content"] = {kind: {"schema": _BYTES} for kind in _SERVED}
    elif reply.status not in (204, 302, 304):
        examples = {"examples": _examples(reply.examples)} if reply.examples else {}
        document["content"] = {
            kind: {"schema": _schema_of(kind, reply.json_type)} | examples for kind in reply.media_type.split(", ")
        }
    return document


def _schema_of(media_type: str, json_type: str) -> dict[str, Any]:
    """Return the schema of a body without a model."""
    kind, _, rest = media_type.partition("/")
    if rest == "json" or rest.endswith("+json"):
        return {"type": json_type} | ({"items": {"type": "object"}} if json_type == "array" else {})
    return {"type": "string"} if kind == "text" or rest.startswith("json") else _BYTES


def _errors(operation: Operation, taken: set[int]) -> dict[str, Any]:
    """Return the error responses by status, with one example per error. Statuses in `taken` are skipped."""
    by_status: dict[int, list[ServiceError]] = {}
    for error in operation.all_errors():
        if error.status not in taken:
            by_status.setdefault(error.status, []).append(error)
    return {str(status): _error(errors) for status, errors in sorted(by_status.items())}


def _error(errors: Iterable[ServiceError]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    headers: dict[str, str] = {}
    codes: dict[str, None] = {}
    for error in errors:
        name = error.code if error.code not in shown else f"{error.code}_{len(shown) + 1}"
        shown[name] = error_body(error)
        headers |= error.headers
        codes[error.code] = None
    return {
        "description": ", ".join(f"`{code}`" for code in codes),
        "headers": _headers(headers),
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Error"}, "examples": _examples(shown)}
        },
    }


def _webhook(name: str, model: type[BaseModel], schemas: dict[str, Schema]) -> dict[str, Any]:
    return {
        "post": {
            "operationId": name.replace(".", "_"),
            "summary": name,
            "description": schemas[model.__name__.replace("Event", "Data")].get("description", ""),
            "security": [],
            "parameters": [
                {"name": header, "in": "header", "required": True, "schema": {"type": "string"}, "description": text}
                for header, text in _SIGNATURE_HEADERS.items()
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": reference(model, schemas=schemas),
                        "examples": _examples({name: examples.EVENTS[name]}),
                    }
                },
            },
            "responses": {
                "2XX": {"description": "Delivered, if within 10 seconds. The body is ignored."},
                "default": {"description": "Failed; sent again, up to five attempts."},
            },
        }
    }


def _headers(given: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*given, "X-Request-Id")}


def _examples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace(" ", "_"): {"summary": name, "value": value} for name, value in values.items()}
