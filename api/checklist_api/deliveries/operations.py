"""OpenAPI operations of deliveries, replays and endpoints."""

from typing import Final

from checklist_crds.errors import (
    DeliveryNotFound,
    PayloadNotKept,
    ReplayNotFound,
    ReplayRefused,
    RunNotFound,
    ValidationFailed,
)
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.runs.replay_rules import ReplayRefusal

from ..http.examples import examples
from ..http.json_body import missing_fields
from ..http.operations import (
    BAD_PAGE,
    COUNTED_KEY_ERRORS,
    DATE_TIME,
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
from ..http.pagination import invalid_parameter, out_of_range
from ..index.delivery_history import OUTCOMES, STATUSES
from ..index.endpoint_figures import MAX_WINDOW_HOURS
from . import models

_DELIVERIES: Final = "Deliveries"
_BAD_STATUS: Final = invalid_parameter("status", f"must be one of {', '.join(STATUSES)}")
_BAD_WINDOW: Final = out_of_range("window_hours", MAX_WINDOW_HOURS)
DELIVERY_OPERATIONS: Final = tagged(
    _DELIVERIES,
    Access.KEY,
    Operation(
        "get /v1/runs/{run_id}/deliveries",
        "listRunDeliveries",
        "List deliveries of a run",
        Reply(
            200,
            "One page, in the order of the events.",
            models.DeliveryList,
            {"one delivery": {"data": [examples.FAILED], "pagination": examples.PAGINATION}},
        ),
        "All events that the run's webhook is subscribed to. Empty without a webhook.",
        parameters=PAGES,
        errors=(RunNotFound(), BAD_PAGE),
    ),
    Operation(
        "get /v1/deliveries",
        "listDeliveries",
        "List deliveries",
        Reply(
            200,
            "One page, newest event first.",
            models.DeliveryList,
            {"one delivery": {"data": [examples.FAILED], "pagination": examples.PAGINATION}},
        ),
        "The events of all runs of the organization.",
        parameters=(
            *PAGES,
            query("status", {"type": "string", "enum": list(STATUSES)}, "Only deliveries with this status."),
            query("event", {"type": "string", "enum": list(EVENT_NAMES)}, "Only events of this kind."),
            query("run_id", {"type": "string"}, "Only events of this run.", examples.RUN_ID),
            query("host", {"type": "string"}, "Only endpoints on this host.", "hooks.example.com"),
            query("outcome", {"type": "string", "enum": list(OUTCOMES)}, "Only with this outcome of the last attempt."),
            query("created_after", DATE_TIME, "Only events after this time.", examples.COMPLETED_AT),
            query("created_before", DATE_TIME, "Only events before this time.", examples.COMPLETED_AT),
        ),
        errors=(BAD_PAGE, _BAD_STATUS),
    ),
    Operation(
        "get /v1/deliveries/{event_id}",
        "getDelivery",
        "Read a delivery",
        Reply(
            200,
            "The delivery with its attempts.",
            models.Delivery,
            {"failed": examples.FAILED, "replayed": examples.REPLAYED},
        ),
        errors=(DeliveryNotFound(),),
    ),
    Operation(
        "post /v1/deliveries/{event_id}/replay",
        "replayDelivery",
        "Replay a delivery",
        Reply(
            202,
            "Requested. It is sent within seconds; read the delivery for the result.",
            models.Delivery,
            {"requested": examples.REPLAYING},
            {"Idempotency-Replayed": "true"},
        ),
        "Sends the event again: the same `event_id` and body with a new signature. A failed replay changes nothing "
        "else and can be repeated. Delivered events of steps are not kept; those of a run's end can be replayed.",
        parameters=(IDEMPOTENCY_KEY,),
        body=Body(models.ReplayOneRequest, {"empty": {}}, required=False),
        errors=(
            DeliveryNotFound(),
            ReplayRefused(ReplayRefusal.RETRY_PENDING.message),
            ReplayRefused(ReplayRefusal.REPLAY_UNDER_WAY.message),
            ReplayRefused(ReplayRefusal.RUN_DELETED.message),
            PayloadNotKept(),
            *COUNTED_KEY_ERRORS,
        ),
    ),
    Operation(
        "post /v1/deliveries/replay",
        "replayDeliveries",
        "Replay many deliveries",
        Reply(
            202,
            "Requested. Read the replay for its progress.",
            models.Replay,
            {"requested": examples.REPLAY},
            {"Location": f"/v1/deliveries/replays/{examples.REPLAY_ID}", "Idempotency-Replayed": "true"},
        ),
        "Replays all deliveries that match the filter once, at the pace of retries. Deliveries that finish after its "
        "start are not included.",
        parameters=(IDEMPOTENCY_KEY,),
        body=Body(
            models.ReplayRequest, {"an outage": examples.REPLAY_REQUEST, "count only": examples.REPLAY_OF_ONE_RUN}
        ),
        errors=(
            missing_fields(["filter"]),
            ValidationFailed(
                "The replay is not valid.",
                details=[problem("filter.hots", "unknown_field", "There is no such field.")],
            ),
            *COUNTED_KEY_ERRORS,
        ),
    ),
    Operation(
        "get /v1/deliveries/replays",
        "listReplays",
        "List replays",
        Reply(
            200,
            "One page, newest first. Finished ones are deleted after a week.",
            models.ReplayList,
            {"one replay": {"data": [examples.COMPLETED_REPLAY], "pagination": examples.PAGINATION}},
        ),
        parameters=PAGES,
        errors=(BAD_PAGE,),
    ),
    Operation(
        "get /v1/deliveries/replays/{replay_id}",
        "getReplay",
        "Read a replay",
        Reply(200, "The replay with its progress.", models.Replay, {"completed": examples.COMPLETED_REPLAY}),
        errors=(ReplayNotFound(),),
    ),
    Operation(
        "delete /v1/deliveries/replays/{replay_id}",
        "stopReplay",
        "Stop a replay",
        Reply(204, "Stopped and deleted. Attempts in progress are still made."),
        "A finished replay is deleted.",
        errors=(ReplayNotFound(),),
    ),
    Operation(
        "get /v1/endpoints",
        "listEndpoints",
        "List endpoints",
        Reply(
            200,
            "One page, by host.",
            models.EndpointList,
            {
                "one endpoint": {
                    "data": [examples.ENDPOINT],
                    "since": "2026-11-20T09:00:00.000Z",
                    "pagination": examples.PAGINATION,
                }
            },
        ),
        "Statistics of the hosts that receive the organization's events, in a window that begins with a full hour.",
        parameters=(
            *PAGES,
            query(
                "window_hours",
                {"type": "integer", "minimum": 1, "maximum": MAX_WINDOW_HOURS, "default": 24},
                "Length of the window.",
            ),
        ),
        errors=(BAD_PAGE, _BAD_WINDOW),
    ),
)
