"""Middleware of all requests: request id, error bodies, metrics. A single one, for speed."""

import logging
import re
import secrets
import time
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from checklist_crds.errors import (
    InternalError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Problem,
    ServiceError,
    ServiceUnavailable,
)
from checklist_crds.kube.errors import KubeContended, KubeOutcomeUnknown, KubeOverloaded, KubeUnavailable
from checklist_crds.platform.log_lines import in_context
from checklist_crds.platform.tracing import (
    NO_TRACES,
    TRACEPARENT_HEADER,
    Span,
    SpanKind,
    Tracing,
    carry,
    valid_traceparent,
)

from ..cluster.call_queue import open_ticket
from ..metrics import Metrics
from .json_body import json_response

logger = logging.getLogger(__name__)

REQUEST_ID: Final = web.RequestKey("request_id", str)
_WAITED_S: Final = web.RequestKey("waited_s", float)
SERVER_NAME: Final = "checklist-dispatch"
_HEADER: Final = "X-Request-Id"
_CLIENT_CLOSED_REQUEST: Final = 499
"""Non-standard status of nginx."""
MAX_REQUEST_ID: Final = 128
REQUEST_ID_CHARACTERS: Final = "[A-Za-z0-9._~:-]"
_WELL_FORMED: Final = re.compile(rf"{REQUEST_ID_CHARACTERS}{{1,{MAX_REQUEST_ID}}}")
_UNAVAILABLE: Final = "The cluster's API is not responding. Try again; an Idempotency-Key prevents duplicates."
_UNKNOWN: Final = "The cluster did not respond after the change was sent, so it may have been made."
_CONTENDED: Final = "Concurrent requests kept changing the same object, so nothing was changed. Try again."
_OVERLOADED: Final = "The service is overloaded. Try again after Retry-After seconds."
_REFUSED: Final = "Nothing was changed."
_UNTRACED: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def request_frame(metrics: Metrics, tracing: Tracing = NO_TRACES) -> Middleware:
    """Return the middleware. It renders all errors as `{error, message, details?, request_id}`."""

    @web.middleware
    async def frame(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = time.perf_counter()
        given = request.headers.get(_HEADER)
        request_id = given if given and _WELL_FORMED.fullmatch(given) else new_request_id()
        request[REQUEST_ID] = request_id
        ticket = open_ticket()
        parent, route = valid_traceparent(request.headers.get(TRACEPARENT_HEADER)), _route_of(request)
        span = (
            Span()
            if route in _UNTRACED
            else tracing.span(f"{request.method} {route}", kind=SpanKind.SERVER, parent=parent)
        )
        carry(span.traceparent or parent, span)
        in_context(**{"request_id": request_id} | ({"trace_id": span.trace_id} if span.trace_id else {}))
        response: web.StreamResponse
        try:
            response = await handler(request)
        except ServiceError as error:
            response = error_response(error, request_id)
        except KubeUnavailable as error:
            logger.debug("cluster.unavailable", extra={"request_id": request_id, "reason": error.message})
            response = error_response(unavailable(error), request_id)
        except web.HTTPException as error:
            response = _from_http_exception(request, error, request_id)
        except ConnectionError:
            # The client disconnected: connection errors of the cluster are KubeErrors.
            logger.debug("caller.gone", extra={"request_id": request_id})
            response = web.Response(status=_CLIENT_CLOSED_REQUEST)
        except Exception:
            logger.exception("request.failed", extra={"request_id": request_id})
            response = error_response(InternalError(), request_id)
        ticket.has_begun = True
        if not response.prepared:
            frame_headers(request, response)
        span.note(
            http__request__method=request.method,
            http__route=route,
            http__response__status_code=response.status,
            request_id=request_id,
        )
        if response.status >= 500:
            span.failed(f"status {response.status}")
        span.end()
        metrics.count_request(
            route,
            request.method if request.method in _METHODS else "other",
            response.status,
            time.perf_counter() - started - request.get(_WAITED_S, 0.0),
        )
        return response

    return frame


def frame_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Set the headers of all responses. Called by handlers that send their response themselves."""
    response.headers[_HEADER] = request[REQUEST_ID]
    # aiohttp's default discloses the versions of aiohttp and Python.
    response.headers["Server"] = SERVER_NAME


def add_waited(request: web.Request, seconds: float) -> None:
    """Exclude time that the request waited on the client's request from the metric of response times."""
    request[_WAITED_S] = request.get(_WAITED_S, 0.0) + seconds


def new_request_id() -> str:
    return f"req-{secrets.token_hex(12)}"


def error_response(error: ServiceError, request_id: str) -> web.Response:
    body = error.as_body()
    body["request_id"] = request_id
    return json_response(body, status=error.status, headers=error.headers)


def unavailable(error: KubeUnavailable) -> ServiceUnavailable:
    """Map a cluster error to a response: unavailable or overloaded, and whether the outcome is known."""
    match error:
        case KubeContended():
            return ServiceUnavailable(_CONTENDED)
        case KubeOverloaded():
            refused = [Problem("", "overloaded", _REFUSED)]
            return ServiceUnavailable(_OVERLOADED, retry_after_s=error.retry_after_s, details=refused)
        case KubeUnavailable(status=429):  # kube-apiserver is overloaded
            return ServiceUnavailable(_OVERLOADED)
        case KubeOutcomeUnknown():
            return ServiceUnavailable(_UNAVAILABLE, details=[Problem("", "outcome_unknown", _UNKNOWN)])
        case _:
            return ServiceUnavailable(_UNAVAILABLE)


def _from_http_exception(request: web.Request, error: web.HTTPException, request_id: str) -> web.StreamResponse:
    """Render aiohttp's errors like the service's own."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allow = ", ".join(sorted({*error.allowed_methods, "OPTIONS"}))
        if request.method == "OPTIONS":
            return web.Response(status=204, headers={"Allow": allow})
        return error_response(MethodNotAllowed(headers={"Allow": allow}), request_id)
    if isinstance(error, web.HTTPNotFound):
        return error_response(NotFound(), request_id)
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return error_response(PayloadTooLarge(), request_id)
    if error.status >= 500:
        return error_response(InternalError(), request_id)
    return error


def _route_of(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "none"
