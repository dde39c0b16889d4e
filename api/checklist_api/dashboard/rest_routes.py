"""`/dashboard/api/{org_id}/{runs,deliveries,endpoints,exports,usage}`: the handlers of the REST API, for members."""

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from checklist_crds.resources.organization import Role
from checklist_crds.resources.run import Run
from checklist_crds.resources.webhook_url import host_of

from ..auth.gate import Caller
from ..deliveries.routes import DeliveryRoutes
from ..exports.routes import ExportRoutes
from ..exports.stable_links import PHOTO, StablePhotoRoutes
from ..http.json_body import json_response
from ..runs import models
from ..runs.routes import RunRoutes
from ..runs.usage import UsageRoutes
from .access import role_of
from .table import Route


class DashboardRun(models.Run):
    """A run with the fields for the dashboard."""

    link: str | None
    webhook: dict[str, Any] | None


class DashboardRunRoutes(RunRoutes):
    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs", Role.VIEWER, self.list),
            Route("GET", "/runs/{run_id}", Role.VIEWER, self.get),
            Route("POST", "/runs", Role.EDITOR, self.dispatch),
            Route("POST", "/runs/{run_id}/cancel", Role.EDITOR, self.cancel),
        )

    def shown(self, run: Run, caller: Caller) -> DashboardRun:
        """Add `link` (null for viewers, because it lets anyone answer the run) and the webhook's host and events."""
        webhook, link = run.spec.webhook, None
        if role_of(caller) is not Role.VIEWER:
            link = self._run_link(caller.organization.id, run.id)
        target = None if webhook is None else {"host": host_of(webhook.url), "events": list(webhook.events)}
        return DashboardRun(**vars(super().shown(run, caller)), link=link, webhook=target)


class DashboardDeliveryRoutes(DeliveryRoutes):
    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs/{run_id}/deliveries", Role.VIEWER, self.of_run),
            Route("GET", "/deliveries", Role.VIEWER, self.list),
            Route("GET", "/deliveries/replays", Role.VIEWER, self.replays),
            Route("GET", "/deliveries/replays/{replay_id}", Role.VIEWER, self.get_replay),
            Route("GET", "/deliveries/{event_id}", Role.VIEWER, self.get),
            Route("GET", "/endpoints", Role.VIEWER, self.endpoints),
            Route("POST", "/deliveries/replay", Role.EDITOR, self.replay_many),
            Route("DELETE", "/deliveries/replays/{replay_id}", Role.EDITOR, self.stop_replay),
            Route("POST", "/deliveries/{event_id}/replay", Role.EDITOR, self.replay),
        )


class DashboardExportRoutes(ExportRoutes):
    """Exports with photo links that require a session, so that links in a spreadsheet work for members."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/exports", Role.VIEWER, self.runs),
            Route("GET", "/runs/{run_id}/export", Role.VIEWER, self.run),
        )

    def base(self, caller: Caller) -> str:
        return f"{self._base_url}/dashboard/api/{caller.organization.id}"


class DashboardPhotoRoutes(StablePhotoRoutes):
    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", PHOTO, Role.VIEWER, self.photo),
            Route("GET", f"{PHOTO}/thumbnail", Role.VIEWER, self.thumbnail),
        )


class DashboardUsageRoutes(UsageRoutes):
    """Adds the runs by day and the reached limit, if any."""

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/usage", Role.VIEWER, self.show),)

    async def show(self, _: web.Request, caller: Caller) -> web.Response:
        found = await self._usage.of(caller.organization)
        return json_response(
            {**found.shown().model_dump(), "by_day": found.by_day(), "limit_reached": found.limit_reached()}
        )
