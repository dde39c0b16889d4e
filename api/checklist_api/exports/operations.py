"""OpenAPI operations of exports."""

from typing import Final

from checklist_crds.errors import NotFound, RunNotFound

from ..http.operations import Access, Operation, Reply, query, tagged
from ..http.pagination import invalid_parameter
from ..runs.operations import RUN_FILTERS

TAG: Final = "Exports"
_FILE: Final = {"Content-Disposition": "", "Cache-Control": "", "X-Content-Type-Options": ""}


EXPORT_OPERATIONS: Final = tagged(
    TAG,
    Access.KEY,
    Operation(
        "get /v1/exports",
        "exportRuns",
        "Export runs",
        Reply(
            200,
            "The file, streamed. If the connection closes before the last chunk, the file is incomplete.",
            headers={"Export-Runs": "", "Export-Incomplete": "", **_FILE},
            media_type="text/csv, application/jsonl, application/geo+json",
        ),
        "All runs that match the filters (those of `GET /v1/runs`), newest first, with labels. Runs created later are "
        "excluded; each run is read while the export is sent. Photo links do not expire and require a key. An "
        "organization can have two concurrent exports; a third is refused with 429.",
        parameters=(
            query(
                "format",
                {"type": "string", "enum": ["csv", "jsonl", "geojson"]},
                "`csv`: for spreadsheets (RFC 4180). `jsonl`: one run per line, like `GET /v1/runs/{run_id}` with "
                "`sections` and `people`. `geojson`: a point per answer with a location (RFC 7946).",
                "csv",
            )
            | {"required": True},
            query(
                "rows",
                {"type": "string", "enum": ["answers", "runs"], "default": "answers"},
                "For CSV. `answers`: one row per answered or skipped step. `runs`: one row per run, with columns for "
                "each step; requires `template_id`.",
            ),
            query(
                "bom",
                {"type": "boolean", "default": True},
                "For CSV: whether to begin with a byte order mark, which Excel needs to detect UTF-8.",
            ),
            *RUN_FILTERS,
        ),
        errors=(invalid_parameter("format", "must be one of csv, jsonl, geojson"),),
    ),
    Operation(
        "get /v1/runs/{run_id}/export",
        "exportRun",
        "Export a run as a document",
        Reply(200, "The document.", headers=_FILE, media_type="application/pdf, application/json"),
        "`pdf`: a printable document with photos and a digest; the same run gives the same bytes. `json`: the run as "
        "in a JSON Lines export, in the canonical form of RFC 8785. The SHA-256 of these bytes is the digest printed "
        "in the PDF.",
        parameters=(
            query("format", {"type": "string", "enum": ["pdf", "json"]}, "The document's format.", "pdf")
            | {"required": True},
        ),
        errors=(RunNotFound(), invalid_parameter("format", "must be one of pdf, json")),
    ),
    *(
        Operation(
            f"get /v1/runs/{{run_id}}/photos/{{photo_id}}{suffix}",
            operation_id,
            summary,
            Reply(302, "The photo's signed URL, valid for an hour.", headers={"Location": "", "Cache-Control": ""}),
            "The permanent link of a photo, used in exports.",
            errors=(RunNotFound(), NotFound("Photo not found.")),
        )
        for suffix, operation_id, summary in (
            ("", "findPhoto", "Find a photo of a run"),
            ("/thumbnail", "findThumbnail", "Find a thumbnail of a photo of a run"),
        )
    ),
)
