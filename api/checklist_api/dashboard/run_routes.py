"""`/dashboard/api/{org_id}/runs`: the handlers of the REST API; single runs also have link and webhook host."""

from collections.abc import Sequence
from typing import Any

from checklist_crds.organization_types import Role
from checklist_crds.run_types import Run

from ..auth.gate import Caller
from ..index.delivery_sources import host_of
from ..runs import models
from ..runs.routes import RunRoutes
from .access import role_of
from .table import Route


class DashboardRun(models.Run):
    """A run as the dashboard shows it."""

    link: str | None
    webhook: dict[str, Any] | None


class DashboardRunRoutes(RunRoutes):
    """One method for each operation."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs", Role.VIEWER, self.list),
            Route("GET", "/runs/{run_id}", Role.VIEWER, self.get),
            Route("POST", "/runs", Role.EDITOR, self.dispatch),
            Route("POST", "/runs/{run_id}/cancel", Role.EDITOR, self.cancel),
        )

    def shown(self, run: Run, caller: Caller) -> DashboardRun:
        """With `link`, by which anybody can answer the run, for those who may send one; and whom its events go to."""
        webhook, link = run.spec.webhook, None
        if role_of(caller) is not Role.VIEWER:
            link = self._run_link(caller.organization.id, run.name)
        told = None if webhook is None else {"host": host_of(webhook.url), "events": list(webhook.events)}
        return DashboardRun(**vars(super().shown(run, caller)), link=link, webhook=told)
