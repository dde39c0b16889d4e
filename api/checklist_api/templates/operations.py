"""The operations for the holder of an API key, for the OpenAPI document."""

from typing import Final

from checklist_crds.errors import (
    InvalidParameter,
    MissingField,
    QuotaExceeded,
    RunClosed,
    RunExpired,
    RunNotFound,
    TemplateNotFound,
    TemplateNotRunnable,
    TemplateVersionNotFound,
    ValidationFailed,
    VersionConflict,
)
from checklist_crds.limits import LimitName, limit_reached
from checklist_crds.template_types import Definition

from . import examples
from . import models as shapes
from .export_operations import RUN_FILTERS
from .generation import GENERATE_TEMPLATE
from .operations import (
    BAD_PAGE,
    COUNTED_KEY_ERRORS,
    IDEMPOTENCY_ERRORS,
    IDEMPOTENCY_KEY,
    PAGES,
    Access,
    Body,
    Operation,
    Reply,
    header,
    problem,
    query,
)

_TEMPLATES: Final = "Templates"
_RUNS: Final = "Runs"

_STRICT: Final = query("strict", {"type": "boolean", "default": False}, "true refuses fields that TDL does not know.")
_IF_MATCH: Final = header(
    "If-Match", {"type": "string"}, "The version that may be changed, in quotes; another one is refused.", '"1"'
)
_BAD_STRICT: Final = InvalidParameter(
    "strict must be true or false.",
    details=[problem("strict", "invalid_parameter", "strict must be true or false.")],
)
_BAD_TDL: Final = ValidationFailed(
    "The template is not valid.",
    details=[
        problem("id", "read_only", "The service assigns this field; it must not be sent."),
        problem("sections[0].steps[1].condition.when.step", "invalid_reference", "There is no earlier step s-fridge."),
    ],
)
_MISSING_SECTIONS: Final = MissingField(
    "Missing: sections.", details=[problem("sections", "missing", "This field is required.")]
)
_TOO_MANY: Final = limit_reached(LimitName.TEMPLATES, limit=1_000, used=1_000)
_TOO_LARGE: Final = limit_reached(LimitName.TEMPLATE_BYTES, limit=67_108_864, used=67_105_211)

TEMPLATE_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "post",
        "/v1/templates",
        "createTemplate",
        _TEMPLATES,
        "Create a template",
        Access.KEY,
        (
            Reply(
                201,
                "Created, with version 1.",
                shapes.Template,
                {"created": examples.TEMPLATE},
                {"ETag": '"1"', "Location": f"/v1/templates/{examples.TEMPLATE_ID}", "Idempotency-Replayed": "true"},
            ),
        ),
        "The service assigns `id`, `v` and `org_id`; they must not be sent. Fields left out get their defaults.",
        parameters=(_STRICT, IDEMPOTENCY_KEY),
        body=Body(Definition, {"kitchen": examples.TEMPLATE_REQUEST}),
        errors=(_MISSING_SECTIONS, _BAD_STRICT, _BAD_TDL, _TOO_MANY, *COUNTED_KEY_ERRORS),
    ),
    Operation(
        "get",
        "/v1/templates",
        "listTemplates",
        _TEMPLATES,
        "List templates",
        Access.KEY,
        (
            Reply(
                200,
                "One page, newest first.",
                shapes.TemplateList,
                {"one template": {"data": [examples.TEMPLATE_SUMMARY], "pagination": examples.PAGINATION}},
            ),
        ),
        parameters=PAGES,
        errors=(BAD_PAGE,),
    ),
    Operation(
        "get",
        "/v1/templates/{template_id}",
        "getTemplate",
        _TEMPLATES,
        "Read a template",
        Access.KEY,
        (Reply(200, "The complete TDL object.", shapes.Template, {"kitchen": examples.TEMPLATE}, {"ETag": '"1"'}),),
        errors=(TemplateNotFound(),),
    ),
    Operation(
        "patch",
        "/v1/templates/{template_id}",
        "patchTemplate",
        _TEMPLATES,
        "Change a template",
        Access.KEY,
        (
            Reply(
                200,
                "The complete TDL object with its new version.",
                shapes.Template,
                {"renamed": examples.PATCHED_TEMPLATE},
                {"ETag": '"2"'},
            ),
        ),
        "A merge patch (RFC 7396): only included fields change, null restores a default, `settings` and `execution` "
        "merge, arrays are replaced whole. Every accepted patch adds 1 to `v`, an empty one too. Runs that were "
        "dispatched keep their snapshot.",
        parameters=(_STRICT, _IF_MATCH),
        body=Body(Definition, {"rename": examples.PATCH_REQUEST}, partial=True),
        errors=(TemplateNotFound(), _BAD_STRICT, _BAD_TDL, _TOO_LARGE, VersionConflict()),
    ),
    Operation(
        "delete",
        "/v1/templates/{template_id}",
        "deleteTemplate",
        _TEMPLATES,
        "Delete a template",
        Access.KEY,
        (Reply(204, "Deleted. Runs that were dispatched keep their snapshot."),),
        errors=(TemplateNotFound(),),
    ),
    Operation(
        "get",
        "/v1/templates/{template_id}/versions",
        "listTemplateVersions",
        _TEMPLATES,
        "List versions of a template",
        Access.KEY,
        (
            Reply(
                200,
                "The current version and the earlier ones that are kept, newest first.",
                shapes.TemplateVersionList,
                {"one version": {"data": [examples.TEMPLATE_VERSION], "pagination": examples.PAGINATION}},
            ),
        ),
        "The newest 50 versions are kept, and all that runs were made of.",
        parameters=PAGES,
        errors=(TemplateNotFound(), BAD_PAGE),
    ),
    Operation(
        "get",
        "/v1/templates/{template_id}/versions/{version}",
        "getTemplateVersion",
        _TEMPLATES,
        "Read a version of a template",
        Access.KEY,
        (
            Reply(
                200,
                "The complete TDL object as it was in that version; `updated_at` is when that was made.",
                shapes.Template,
                {"kitchen": examples.TEMPLATE},
                {"ETag": '"1"'},
            ),
        ),
        errors=(TemplateNotFound(), TemplateVersionNotFound()),
    ),
    GENERATE_TEMPLATE,
)

RUN_OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "post",
        "/v1/runs",
        "dispatchRun",
        _RUNS,
        "Dispatch a run",
        Access.KEY,
        (
            Reply(
                201,
                "Dispatched. Send the link to the executor.",
                shapes.Dispatched,
                {"dispatched": examples.DISPATCHED},
                {"Location": f"/v1/runs/{examples.RUN_ID}", "Idempotency-Replayed": "true"},
            ),
        ),
        "Takes a snapshot of the template and counts against the plan's monthly quota. The webhook can only be "
        "configured here.",
        parameters=(IDEMPOTENCY_KEY,),
        body=Body(
            shapes.DispatchRequest,
            {"with a webhook": examples.DISPATCH_REQUEST, "plain": {"template_id": examples.TEMPLATE_ID}},
        ),
        errors=(
            MissingField(
                "Missing: webhook.secret.", details=[problem("webhook.secret", "missing", "This field is required.")]
            ),
            QuotaExceeded(),
            TemplateNotFound(),
            ValidationFailed(
                details=[problem("expires_in_hours", "out_of_range", "Must be more than 0 and at most 8760.")]
            ),
            TemplateNotRunnable(details=[problem("sections", "template_not_runnable", "The template has no steps.")]),
            *IDEMPOTENCY_ERRORS,
        ),
    ),
    Operation(
        "get",
        "/v1/runs",
        "listRuns",
        _RUNS,
        "List runs",
        Access.KEY,
        (
            Reply(
                200,
                "One page, newest first.",
                shapes.RunList,
                {"one run": {"data": [examples.RUN_SUMMARY], "pagination": examples.PAGINATION}},
            ),
        ),
        parameters=(
            *PAGES,
            *RUN_FILTERS,
        ),
        errors=(BAD_PAGE,),
    ),
    Operation(
        "get",
        "/v1/runs/{run_id}",
        "getRun",
        _RUNS,
        "Read a run",
        Access.KEY,
        (Reply(200, "The run with all its answers.", shapes.Run, {"completed": examples.RUN}),),
        errors=(RunNotFound(),),
    ),
    Operation(
        "post",
        "/v1/runs/{run_id}/cancel",
        "cancelRun",
        _RUNS,
        "Cancel a run",
        Access.KEY,
        (Reply(200, "The cancelled run.", shapes.Run, {"cancelled": examples.CANCELLED_RUN}),),
        "Final; the event's reason is `cancelled_by_owner`.",
        body=Body(shapes.CancellationRequest, {"empty": {}}, required=False),
        errors=(RunNotFound(), RunClosed("The run is completed; it takes no more changes."), RunExpired()),
    ),
    Operation(
        "get",
        "/v1/runs/{run_id}/preview",
        "previewRun",
        _RUNS,
        "Preview a run",
        Access.NOTHING,
        (
            Reply(
                200, "What the run's link shows before it is opened.", shapes.RunPreview, {"pending": examples.PREVIEW}
            ),
        ),
        "The run id is the credential.",
        errors=(RunNotFound(), RunExpired()),
    ),
    Operation(
        "get",
        "/v1/usage",
        "getUsage",
        "Usage",
        "Read the quota",
        Access.KEY,
        (Reply(200, "Runs of the current UTC calendar month.", shapes.Usage, {"some": examples.USAGE}),),
    ),
)
