"""OpenAPI operations of pages and health checks."""

from typing import Final

from checklist_crds.errors import NotFound

from ..http.examples import examples
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
        "Landing page",
        Reply(200, "A page with links.", media_type=_HTML),
    ),
    Operation(
        "get /docs",
        "getDocumentation",
        "Documentation",
        Reply(200, "The documentation.", media_type=_HTML),
    ),
    Operation(
        "get /pages/{name}",
        "getPageFile",
        "A style sheet of the pages",
        Reply(200, "The file, immutable.", media_type="text/css"),
        errors=(NotFound(),),
    ),
    Operation(
        "get /r/{run_id}",
        "getRunPage",
        "The page behind a run's link",
        (
            Reply(200, "The checklist's name, sender and expiry.", media_type=_HTML),
            Reply(404, "The run does not exist.", media_type=_HTML),
            Reply(410, "The run has expired.", media_type=_HTML),
            Reply(503, "The cluster's API is not responding.", headers={"Retry-After": "2"}, media_type=_HTML),
        ),
        "The app to answer the checklist, with the public preview. Does not change the run. `sw.js` and other file "
        "names of the app are served instead of a run's page.",
        access=Access.NOTHING,
    ),
    Operation(
        "get /r/{folder}/{name}",
        "getRunPageFile",
        "A file of the app behind a run's link",
        Reply(200, "The file; those in `assets` are immutable.", media_type=_FILES),
        errors=(NotFound(),),
    ),
    Operation(
        "get /.well-known/apple-app-site-association",
        "getAppleAssociation",
        "App association for Apple's systems",
        Reply(200, "As Apple defines it."),
        errors=(NotFound(),),
    ),
    Operation(
        "get /.well-known/assetlinks.json",
        "getAndroidAssociation",
        "App association for Android",
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
        "Liveness",
        Reply(200, "The process is alive.", Health, {"alive": {"status": "ok"}}),
        tag="Operations",
    ),
    Operation(
        "get /readyz",
        "getReadiness",
        "Readiness",
        (
            Reply(200, "Ready.", Readiness, {"ready": examples.READY}),
            Reply(
                503,
                "Not ready.",
                Readiness,
                {"starting": examples.STARTING},
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
