"""Routes of deliveries, replays and endpoints."""

import asyncio
from collections.abc import Sequence
from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.resources.audit_entry import AuditTarget
from checklist_crds.resources.event_names import EVENT_NAMES
from checklist_crds.times import format_timestamp

from ..archive.reading import ArchivedRuns
from ..archive.run import ArchivedRun
from ..audit.trail import AuditTrail
from ..auth.gate import Caller, Gate
from ..http.json_body import json_response, read_json_object, read_optional_json_object
from ..http.models import Pagination
from ..http.pagination import Page, integer_up_to, one_of, parameter, requested_moment, requested_page
from ..idempotency import REPEATED, Idempotency, requested_key
from ..index.deliveries import DeliveryFilter, DeliveryIndex
from ..index.delivery_history import OUTCOMES, STATUSES, Delivery
from ..index.delivery_rows import packed_id
from ..index.endpoint_figures import MAX_WINDOW_HOURS
from ..index.runs import RunIndex
from ..runs.access import RunAccess
from .access import REPLAY_PREFIX, DeliveryAccess
from .models import Delivery as DeliveryShape
from .models import DeliveryList, Endpoint, EndpointList, Replay, ReplayList, ReplayRequest
from .replays import ReplayDirectory, RequestedReplay

_DEFAULT_WINDOW_HOURS: Final = 24


@define(kw_only=True, eq=False, repr=False, slots=False)
class DeliveryRoutes:
    _deliveries: DeliveryAccess
    _index: DeliveryIndex
    _replays: ReplayDirectory
    _runs: RunAccess
    _run_index: RunIndex
    _archived: ArchivedRuns
    _idempotency: Idempotency
    _audit: AuditTrail
    _path_prefix: str

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get("/v1/runs/{run_id}/deliveries", gate.owner(self.of_run))
        router.add_get("/v1/deliveries", gate.owner(self.list))
        router.add_post("/v1/deliveries/replay", gate.owner(self.replay_many))
        router.add_get("/v1/deliveries/replays", gate.owner(self.replays))
        router.add_get("/v1/deliveries/replays/{replay_id}", gate.owner(self.get_replay))
        router.add_delete("/v1/deliveries/replays/{replay_id}", gate.owner(self.stop_replay))
        router.add_get("/v1/deliveries/{event_id}", gate.owner(self.get))
        router.add_post("/v1/deliveries/{event_id}/replay", gate.owner(self.replay))
        router.add_get("/v1/endpoints", gate.owner(self.endpoints))

    async def _wait_for_lists(self) -> None:
        """Wait for runs, deliveries and replays. Raises KubeUnavailable after a timeout."""
        informers = (self._run_index.informer, self._index.informer, self._replays.informer)
        await asyncio.gather(*(informer.wait_for_first_list() for informer in informers))

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, wanted = requested_page(request), _requested_filter(request)
        organization = caller.organization
        await self._wait_for_lists()
        total, deliveries = self._index.page(
            organization.name, organization.namespaces, wanted, offset=page.offset, limit=page.per_page
        )
        if wanted.run_id is not None and not self._run_index.has_in(wanted.run_id, organization.namespaces):
            run = await self._archived.find(wanted.run_id, organization)
            if run is not None:
                found = [delivery for delivery in run.deliveries() if wanted.matches(delivery)]
                return self._page_of(sorted(found, key=_newest_first), page)
        return self._listed(deliveries, caller, page.of(total))

    async def of_run(self, request: web.Request, caller: Caller) -> web.Response:
        page = requested_page(request)
        organization = caller.organization
        run = await self._runs.of_organization(request.match_info["run_id"], organization)
        await self._wait_for_lists()
        if not isinstance(run, ArchivedRun) and not self._run_index.has(run.id, run.namespace):
            # It may have left the cluster since it was read.
            run = await self._runs.of_organization(run.id, organization)
        if isinstance(run, ArchivedRun):
            return self._page_of(run.deliveries(), page)
        total, deliveries = self._index.of_run(run.id, run.namespace, offset=page.offset, limit=page.per_page)
        return self._listed(deliveries, caller, page.of(total))

    def _listed(self, deliveries: Sequence[Delivery], caller: Caller, pagination: Pagination) -> web.Response:
        shown = [DeliveryShape.of(self._deliveries.listed(delivery, caller.organization)) for delivery in deliveries]
        return json_response(DeliveryList(data=shown, pagination=pagination))

    def _page_of(self, deliveries: Sequence[Delivery], page: Page) -> web.Response:
        """Render deliveries of an archived run."""
        shown = [DeliveryShape.of(each) for each in page.cut(deliveries)]
        return json_response(DeliveryList(data=shown, pagination=page.of(len(deliveries))))

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        found = await self._deliveries.of_organization(request.match_info["event_id"], caller.organization)
        return json_response(DeliveryShape.of(found.delivery))

    async def replay(self, request: web.Request, caller: Caller) -> web.Response:
        await read_optional_json_object(request)
        event_id, key = request.match_info["event_id"], requested_key(request)
        payload = {"event_id": event_id}
        with self._idempotency.claim(key, caller.organization.name, REPLAY_PREFIX, payload) as claim:
            async with self._audit.act(request, caller) as act:
                delivery, repeated = await self._deliveries.replay(event_id, caller, claim, act)
        return json_response(DeliveryShape.of(delivery), status=202, headers=REPEATED if repeated else None)

    async def replay_many(self, request: web.Request, caller: Caller) -> web.Response:
        body = await read_json_object(request)
        key = requested_key(request)
        wanted = ReplayRequest.read(body)
        with self._idempotency.claim(key, caller.organization.name, REPLAY_PREFIX, body) as claim:
            async with self._audit.act(request, caller) as act:
                replay, repeated = await self._deliveries.replay_many(wanted, caller, claim, act)
        location = f"{self._path_prefix}/v1/deliveries/replays/{replay.name}"
        headers = {"Location": location, **(REPEATED if repeated else {})}
        return json_response(self._shown(replay), status=202, headers=headers)

    async def replays(self, request: web.Request, caller: Caller) -> web.Response:
        page = requested_page(request)
        await self._wait_for_lists()
        found = self._replays.of_organization(caller.organization)
        shown = [self._shown(each) for each in page.cut(found)]
        return json_response(ReplayList(data=shown, pagination=page.of(len(found))))

    def _shown(self, replay: RequestedReplay) -> Replay:
        wanted = replay.spec.filter
        run_id = wanted.run_id
        if run_id is None and wanted.run_ref is not None:
            run_id = self._run_index.names.id_at(replay.namespace, wanted.run_ref.name)
        return Replay.of(replay, run_id)

    async def get_replay(self, request: web.Request, caller: Caller) -> web.Response:
        replay = await self._replays.get(request.match_info["replay_id"], caller.organization)
        return json_response(self._shown(replay))

    async def stop_replay(self, request: web.Request, caller: Caller) -> web.Response:
        name = request.match_info["replay_id"]
        replay = await self._replays.get(name, caller.organization)
        async with self._audit.act(request, caller) as act:
            await act.announce("replay.stopped", AuditTarget(kind="replay", id=name), status=replay.status.phase.rest)
            await self._replays.delete(name, caller.organization)
        return web.Response(status=204)

    async def endpoints(self, request: web.Request, caller: Caller) -> web.Response:
        page, hours = requested_page(request), _requested_window(request)
        organization = caller.organization
        await self._wait_for_lists()
        since, total, endpoints = self._index.endpoints.page(
            organization.name, organization.namespaces, hours=hours, offset=page.offset, limit=page.per_page
        )
        return json_response(
            EndpointList(
                data=[Endpoint.of(each) for each in endpoints],
                since=format_timestamp(since),
                pagination=page.of(total),
            )
        )


def _newest_first(delivery: Delivery) -> tuple[int, bytes]:
    """Sort key with the order of the index."""
    return -delivery.listed_at, bytes(255 - byte for byte in packed_id("evt", delivery.event.event_id) or b"")


def _requested_filter(request: web.Request) -> DeliveryFilter:
    host = parameter(request, "host")
    return DeliveryFilter(
        status=one_of(request, "status", STATUSES),
        event=one_of(request, "event", EVENT_NAMES),
        run_id=parameter(request, "run_id"),
        host=None if host is None else host.lower(),
        outcome=one_of(request, "outcome", OUTCOMES),
        created_after=requested_moment(request, "created_after"),
        created_before=requested_moment(request, "created_before"),
    )


def _requested_window(request: web.Request) -> int:
    hours = integer_up_to(MAX_WINDOW_HOURS, request, "window_hours")
    return _DEFAULT_WINDOW_HOURS if hours is None else hours
