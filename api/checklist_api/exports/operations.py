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
            "The file, as a stream. A connection that breaks off before its last chunk means that it is not whole.",
            headers={"Export-Runs": "", "Export-Incomplete": "", **_FILE},
            media_type="text/csv, application/jsonl, application/geo+json",
        ),
        "All runs that fit the filters, which are those of `GET /v1/runs`, newest first, with labels beside ids. Runs "
        "that are made later are not in it, and each run is as it is when its turn comes. Addresses of photos in it do "
        "not expire, and ask for a key. Two exports of an organization go at a time; a third is answered with 429.",
        parameters=(
            query(
                "format",
                {"type": "string", "enum": ["csv", "jsonl", "geojson"]},
                "`csv`: for spreadsheets (RFC 4180). `jsonl`: one run a line, as `GET /v1/runs/{run_id}` gives it, "
                "with `sections` and `people` on top. `geojson`: a point for each answer with a location (RFC 7946).",
                "csv",
            )
            | {"required": True},
            query(
                "rows",
                {"type": "string", "enum": ["answers", "runs"], "default": "answers"},
                "Of CSV. `answers`: a row for each answered or skipped step. `runs`: a row for each run and a column "
                "for each step; needs `template_id`.",
            ),
            query(
                "bom",
                {"type": "boolean", "default": True},
                "Of CSV: whether it begins with the mark by which Excel knows that it is UTF-8.",
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
        "`pdf`: the run on paper, with its photos and a digest. The same run gives the same bytes. `json`: the run as "
        "the JSON lines of an export have it, in the canonical form of RFC 8785: the SHA-256 of these bytes is the "
        "digest that the PDF prints.",
        parameters=(
            query("format", {"type": "string", "enum": ["pdf", "json"]}, "What to make of it.", "pdf")
            | {"required": True},
        ),
        errors=(RunNotFound(), invalid_parameter("format", "must be one of pdf, json")),
    ),
    *(
        Operation(
            f"get /v1/runs/{{run_id}}/photos/{{photo_id}}{suffix}",
            operation_id,
            summary,
            Reply(302, "Its signed address, valid for an hour.", headers={"Location": "", "Cache-Control": ""}),
            "The address of a photo that exports have: it does not expire.",
            errors=(RunNotFound(), NotFound("There is no such photo in this run.")),
        )
        for suffix, operation_id, summary in (
            ("", "findPhoto", "Find a photo of a run"),
            ("/thumbnail", "findThumbnail", "Find a small copy of a photo of a run"),
        )
    ),
)
