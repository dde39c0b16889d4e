"""OpenAPI operations of pages and health checks."""

from typing import Final

from checklist_crds.errors import NotFound

from ..http.example_values import READY, STARTING
from ..http.models import Health, Readiness
from ..http.operations import Access, Operation, Reply, tagged

_TAG: Final = "Pages"
_HTML: Final = "text/html"
_FILES: Final = (
    "text/javascript, text/css, application/json, application/manifest+json, image/svg+xml, image/png, image/x-icon, "
    "font/woff2, application/octet-stream"
)
SERVICE_OPERATIONS: Final = tagged(
    _TAG,
    Access.UNLIMITED,
    Operation(
        "get /",
        "getLandingPage",
        "Where to find what",
        Reply(200, "A page with links.", media_type=_HTML),
    ),
    Operation(
        "get /docs",
        "getDocumentation",
        "This document to read",
        Reply(200, "The documentation.", media_type=_HTML),
    ),
    Operation(
        "get /pages/{name}",
        "getPageFile",
        "A style sheet of the pages",
        Reply(200, "The file; it never changes under its name.", media_type="text/css"),
        errors=(NotFound(),),
    ),
    Operation(
        "get /r/{run_id}",
        "getRunPage",
        "The page behind a run's link",
        (
            Reply(200, "What the checklist is, who sent it, until when.", media_type=_HTML),
            Reply(404, "There is no such run.", media_type=_HTML),
            Reply(410, "The run has expired.", media_type=_HTML),
            Reply(503, "The cluster's API does not answer.", headers={"Retry-After": "2"}, media_type=_HTML),
        ),
        "For people: the app that answers the checklist, and what the preview gives for whoever has no token or no "
        "scripts. Looking at it changes nothing. In place of a run's id, `sw.js` and other names of files that the "
        "app keeps beside the page give those files.",
        access=Access.NOTHING,
    ),
    Operation(
        "get /r/{folder}/{name}",
        "getRunPageFile",
        "A file of the app behind a run's link",
        Reply(200, "The file; one of `assets` never changes under its name.", media_type=_FILES),
        errors=(NotFound(),),
    ),
    Operation(
        "get /.well-known/apple-app-site-association",
        "getAppleAssociation",
        "Apps that run links open on Apple's systems",
        Reply(200, "As Apple defines it."),
        errors=(NotFound(),),
    ),
    Operation(
        "get /.well-known/assetlinks.json",
        "getAndroidAssociation",
        "Apps that run links open on Android",
        Reply(200, "As Google defines it.", json_type="array"),
        errors=(NotFound(),),
    ),
    Operation(
        "get /v1/openapi.json",
        "getOpenApi",
        "This document",
        Reply(200, "OpenAPI 3.1."),
    ),
    Operation(
        "get /healthz",
        "getHealth",
        "Whether the process lives",
        Reply(200, "It does.", Health, {"alive": {"status": "ok"}}),
        tag="Operations",
    ),
    Operation(
        "get /readyz",
        "getReadiness",
        "Whether the process can serve",
        (
            Reply(200, "It can.", Readiness, {"ready": READY}),
            Reply(
                503,
                "Not now.",
                Readiness,
                {"starting": STARTING},
                {"Retry-After": "1"},
            ),
        ),
        tag="Operations",
    ),
    Operation(
        "get /metrics",
        "getMetrics",
        "Metrics for Prometheus",
        Reply(200, "Text exposition format.", media_type="text/plain"),
        tag="Operations",
    ),
)
