"""Filters of runs in a query, wherever runs are listed or exported."""

from aiohttp import web

from checklist_crds.resources.run import REST_STATUSES

from ..http.pagination import one_of, parameter, requested_moment
from ..index.runs import RunFilter


def requested_filter(request: web.Request) -> RunFilter:
    """From the query. Raises InvalidParameter."""
    return RunFilter(
        status=one_of(request, "status", REST_STATUSES),
        template_id=parameter(request, "template_id"),
        executor_ref=parameter(request, "executor_ref"),
        created_after=requested_moment(request, "created_after"),
        created_before=requested_moment(request, "created_before"),
    )
