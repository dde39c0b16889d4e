"""OpenAPI operations of runs and usage."""

from typing import Final

from checklist_crds.errors import (
    QuotaExceeded,
    RunClosed,
    RunExpired,
    RunNotAdmitted,
    RunNotFound,
    TemplateNotFound,
    TemplateNotRunnable,
    ValidationFailed,
)
from checklist_crds.resources.run import MAX_EXPIRY_HOURS
from checklist_crds.templates.answer_schema import MEDIA_TYPE

from ..http.examples import examples
from ..http.json_body import missing_fields
from ..http.operations import (
    BAD_PAGE,
    DATE_TIME,
    IDEMPOTENCY_ERRORS,
    IDEMPOTENCY_KEY,
    PAGES,
    Access,
    Body,
    Operation,
    Reply,
    problem,
    query,
    tagged,
)
from ..http.pagination import out_of_range
from ..index.run_filter import FILTER_STATUSES
from . import models
from .waiting import LONGEST_WAIT_S

_RUNS: Final = "Runs"
RUN_FILTERS: Final = (
    query(
        "status",
        {"type": "string", "enum": list(FILTER_STATUSES)},
        "Only runs with this status. `open`: pending or in progress.",
    ),
    query("template_id", {"type": "string"}, "Only runs of this template.", examples.TEMPLATE_ID),
    query("executor_ref", {"type": "string"}, "Only runs with this reference."),
    query(
        "flagged",
        {"type": "boolean"},
        "true: only runs with answers outside what is expected; false: only runs without.",
    ),
    query("created_after", DATE_TIME, "Only runs created after this time.", examples.CREATED_AT),
    query("created_before", DATE_TIME, "Only runs created before this time.", examples.EXPIRES_AT),
    query("completed_after", DATE_TIME, "Only runs completed after this time.", examples.CREATED_AT),
    query("completed_before", DATE_TIME, "Only runs completed before this time.", examples.EXPIRES_AT),
    query("expires_after", DATE_TIME, "Only runs that expire or expired after this time.", examples.CREATED_AT),
    query("expires_before", DATE_TIME, "Only runs that expire or expired before this time.", examples.EXPIRES_AT),
)
RUN_OPERATIONS: Final = tagged(
    _RUNS,
    Access.KEY,
    Operation(
        "post /v1/runs",
        "dispatchRun",
        "Dispatch a run",
        Reply(
            201,
            "Dispatched. Send the link to the executor.",
            models.Dispatched,
            {"dispatched": examples.DISPATCHED},
            {"Location": f"/v1/runs/{examples.RUN_ID}", "Idempotency-Replayed": "true"},
        ),
        "Takes a snapshot of the template and counts against the plan's monthly quota. The webhook can only be "
        "configured here.",
        parameters=(IDEMPOTENCY_KEY,),
        body=Body(
            models.DispatchRequest,
            {"with a webhook": examples.DISPATCH_REQUEST, "plain": {"template_id": examples.TEMPLATE_ID}},
        ),
        errors=(
            missing_fields(["webhook.secret"]),
            QuotaExceeded(),
            TemplateNotFound(),
            ValidationFailed(
                details=[problem("expires_in_hours", "out_of_range", f"Must be at most {MAX_EXPIRY_HOURS}.")]
            ),
            TemplateNotRunnable(details=[problem("sections", "template_not_runnable", "The template has no steps.")]),
            *IDEMPOTENCY_ERRORS,
        ),
    ),
    Operation(
        "get /v1/runs",
        "listRuns",
        "List runs",
        Reply(
            200,
            "One page, newest first.",
            models.RunList,
            {"one run": {"data": [examples.RUN_SUMMARY], "pagination": examples.PAGINATION}},
        ),
        parameters=(
            *PAGES,
            *RUN_FILTERS,
        ),
        errors=(BAD_PAGE,),
    ),
    Operation(
        "get /v1/runs/{run_id}",
        "getRun",
        "Read a run",
        Reply(200, "The run with all its answers.", models.Run, {"completed": examples.RUN}),
        "With `wait`, responds when the run is completed, cancelled or expired, or after that many seconds with the "
        "current run: check `status` and repeat the request. If the run is deleted meanwhile, the response is 404.",
        parameters=(
            query(
                "wait",
                {"type": "integer", "minimum": 1, "maximum": LONGEST_WAIT_S},
                "Maximum seconds to wait for the end of the run. Absent: do not wait.",
                30,
            ),
        ),
        errors=(out_of_range("wait", LONGEST_WAIT_S), RunNotFound()),
    ),
    Operation(
        "get /v1/runs/{run_id}/answer-schema",
        "getRunAnswerSchema",
        "Read the schema of a run's answers",
        Reply(
            200,
            "A JSON Schema (2020-12) of the run's `answers` after completion.",
            examples={"kitchen": examples.ANSWER_SCHEMA},
            media_type=MEDIA_TYPE,
        ),
        "The schema belongs to the run's snapshot of the template; open and archived runs have one too. Answers of "
        "open, cancelled and expired runs may be invalid against it.",
        errors=(RunNotFound(),),
    ),
    Operation(
        "post /v1/runs/{run_id}/cancel",
        "cancelRun",
        "Cancel a run",
        Reply(200, "The cancelled run.", models.Run, {"cancelled": examples.CANCELLED_RUN}),
        "Final; the event's reason is `cancelled_by_owner`.",
        body=Body(models.CancellationRequest, {"empty": {}}, required=False),
        errors=(RunNotFound(), RunClosed("The run is completed; it takes no more changes."), RunExpired()),
    ),
    Operation(
        "get /v1/runs/{run_id}/link",
        "getRunLink",
        "Read a run's link",
        Reply(200, "The link to send to the executor.", models.ExecutorLink, {"open": examples.EXECUTOR_LINK}),
        "Returns the link of the dispatch; also for runs made with kubectl, once they are admitted. Anyone with the "
        "link can answer the run.",
        errors=(
            RunNotFound(),
            RunClosed("The run is completed or cancelled; its link can no longer be used."),
            RunNotAdmitted("The run is not admitted (QuotaExceeded): All 100 runs of this month are used up."),
            RunExpired(),
        ),
    ),
    Operation(
        "get /v1/runs/{run_id}/preview",
        "previewRun",
        "Preview a run",
        Reply(200, "The public data of a run.", models.RunPreview, {"pending": examples.PREVIEW}),
        "The run id is the credential.",
        errors=(RunNotFound(), RunExpired()),
        access=Access.NOTHING,
    ),
    Operation(
        "get /v1/usage",
        "getUsage",
        "Read the quota",
        Reply(200, "Runs of the current UTC calendar month.", models.Usage, {"some": examples.USAGE}),
        tag="Usage",
    ),
)
