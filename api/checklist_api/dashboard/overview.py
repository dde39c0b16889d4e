"""`GET /dashboard/api/{org_id}/overview` (viewers): the figures of the dashboard's first page.

Computed from the indexes in memory and, for archived runs, on the local disk; the cluster is not asked. The cost has a
bound: nine counts of at most 10,000 index entries, the durations of 1,000 runs, and the endpoints whose newest attempt
failed. Where an organization has more, a count is `counted_up_to` and means at least that many.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from aiohttp import web
from attrs import define

from checklist_crds.resources.organization import Role
from checklist_crds.times import Clock, format_timestamp

from ..archive.reading import ArchivedRuns
from ..auth.gate import Caller
from ..deliveries.models import EndpointError
from ..http.json_body import json_response
from ..http.pagination import invalid_parameter, requested_moment
from ..index.deliveries import DeliveryIndex
from ..index.endpoint_figures import Endpoint
from ..index.run_figures import COUNTED_UP_TO
from ..index.runs import RunIndex
from .table import Route

SOON: Final = timedelta(hours=24)
"""How long before its expiry a run expires soon, and how long after it a run is listed as expired lately."""
LONGEST_DAY: Final = timedelta(hours=48)
"""Earliest start of `today`: clocks and time zones differ by less."""
ENDPOINTS: Final = 5


@define(kw_only=True, eq=False, repr=False, slots=False)
class OverviewRoutes:
    _index: RunIndex
    _deliveries: DeliveryIndex
    _archived: ArchivedRuns
    _clock: Clock

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/overview", Role.VIEWER, self.show),)

    async def show(self, request: web.Request, caller: Caller) -> web.Response:
        """`?since=`: the start of today for the reader; midnight in UTC by default. Raises InvalidParameter and
        KubeUnavailable."""
        organization, now = caller.organization, self._clock()
        since = _requested_start(request, now)
        await asyncio.gather(self._index.wait_for_first_list(), self._deliveries.informer.wait_for_first_list())
        name, namespaces = organization.name, organization.namespaces
        counts = self._index.figures.counts(name, namespaces, since=since, now=now, within=SOON)
        failing, endpoints = self._deliveries.endpoints.failing(name, namespaces, ENDPOINTS)
        reason = self._archived.incomplete(organization)
        return json_response(
            {
                "since": format_timestamp(since),
                "runs": asdict(counts),
                "counted_up_to": COUNTED_UP_TO,
                "failed_deliveries": self._deliveries.failed(name, namespaces),
                "failing_endpoints": {"total": failing, "data": [_endpoint_view(each) for each in endpoints]},
                "templates": [asdict(each) for each in self._index.figures.times(name, namespaces)],
                "archive": None if reason is None else reason.view(),
            }
        )


def _requested_start(request: web.Request, now: datetime) -> datetime:
    since = requested_moment(request, "since")
    if since is None:
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    if not now - LONGEST_DAY <= since <= now + LONGEST_DAY:
        raise invalid_parameter("since", "must be less than 48 hours from now")
    return since


def _endpoint_view(endpoint: Endpoint) -> dict[str, Any]:
    error = endpoint.last_error
    return {
        "host": endpoint.host,
        "pending": endpoint.pending,
        "failed": endpoint.failed,
        "last_error": None if error is None else {**EndpointError.of(error).model_dump(), "detail": error.detail},
    }
