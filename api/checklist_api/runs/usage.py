"""/v1/usage: usage of the current month, read from the cluster (contract section 5)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from checklist_crds.errors import QuotaExceeded
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.quota_ledger import QuotaLedger
from checklist_crds.limits.quota import Quota, days, usage
from checklist_crds.resources.kinds import ORGANIZATION
from checklist_crds.resources.organization import OrganizationSpec, Plan
from checklist_crds.times import Clock

from ..auth.gate import Caller, Gate
from ..http.json_body import json_response
from ..organizations.directory import Organization
from . import models


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of an organization at `now`."""

    quota: Quota
    plan: Plan
    now: datetime

    def shown(self) -> models.Usage:
        return models.Usage(**self._counted(), period=self.quota.at(self.now).period, plan=self.plan.name)

    def by_day(self) -> list[dict[str, Any]]:
        return days(self.quota, now=self.now)

    def limit_reached(self) -> dict[str, Any] | None:
        """Return the error that a dispatch would get; None below the limit."""
        limit = self.plan.runs_per_month
        if limit is None or self.quota.at(self.now).used < limit:
            return None
        return QuotaExceeded(details=self._counted()).as_body()

    def _counted(self) -> dict[str, Any]:
        return usage(self.quota, limit=self.plan.runs_per_month, now=self.now)


class UsageReader:
    """Reads the usage of an organization, after flushing pending counts."""

    def __init__(self, client: KubeClient, ledger: QuotaLedger, clock: Clock) -> None:
        self._client = client
        self._ledger = ledger
        self._clock = clock

    async def of(self, organization: Organization) -> Usage:
        """Return the usage. Raises KubeError."""
        await self._ledger.flush(organization.name)
        body = await self._client.get(ORGANIZATION, organization.name)
        plan = OrganizationSpec.model_validate(body["spec"]).plan
        return Usage(Quota.parse((body.get("status") or {}).get("quota")), plan, self._clock())


class UsageRoutes:
    def __init__(self, usage: UsageReader) -> None:
        self._usage = usage

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get("/v1/usage", gate.owner(self.show))

    async def show(self, _: web.Request, caller: Caller) -> web.Response:
        found = await self._usage.of(caller.organization)
        return json_response(found.shown())
