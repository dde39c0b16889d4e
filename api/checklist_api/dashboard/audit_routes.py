"""`/dashboard/api/{org_id}/audit`: the audit trail for admins, as a list (newest first) and as a JSON Lines export."""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from aiohttp import web
from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeError, KubeGone
from checklist_crds.resources.audit_entry import AuditEntrySpec, AuditOutcome
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import AUDIT_ENTRY
from checklist_crds.resources.organization import Role
from checklist_crds.times import Clock
from checklist_crds.values.json_text import to_json

from ..audit.index import AuditFilter, AuditIndex, audit_view
from ..auth.gate import Caller
from ..http.json_body import json_response
from ..http.middleware import frame_headers
from ..http.pagination import one_of, parameter, requested_moment, requested_page
from ..organizations.directory import Organization
from .table import Route

logger = logging.getLogger(__name__)

_OUTCOMES: Final = tuple(outcome.value for outcome in AuditOutcome)


class AuditRoutes:
    def __init__(self, index: AuditIndex, watcher: KubeClient, clock: Clock) -> None:
        self._index = index
        self._watcher = watcher
        self._clock = clock

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/audit", Role.ADMIN, self.list),
            Route("GET", "/audit/export", Role.ADMIN, self.export),
        )

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page, wanted, index = requested_page(request), _requested_filter(request), self._index
        await index.informer.wait_for_first_list()
        total, entries = index.page(caller.organization, wanted, offset=page.offset, limit=page.per_page)
        return json_response(
            {"data": entries, "complete": index.is_complete(caller.organization), "pagination": page.view(total)}
        )

    async def export(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        """Export all entries, oldest first, one for each line."""
        pages = exported(self._watcher, caller.organization, _requested_filter(request))
        # Read the first page before the headers are sent, so that an unavailable cluster gives a 503.
        nothing: list[dict[str, Any]] = []
        first = await anext(pages, nothing)
        day = self._clock().date().isoformat()
        response = web.StreamResponse(
            headers={
                "Content-Type": "application/jsonl; charset=utf-8",
                "Content-Disposition": f'attachment; filename="audit-{day}.jsonl"',
                "Cache-Control": "no-store",
            }
        )
        frame_headers(request, response)
        await response.prepare(request)
        try:
            await response.write(_lines(first))
            async for entries in pages:
                await response.write(_lines(entries))
            await response.write_eof()
        except KubeError as error:
            # Abort the connection so that the browser reports an incomplete download.
            logger.warning("audit.export_broken", extra={"reason": error.message})
            if request.transport is not None:
                request.transport.abort()
        return response


def _lines(entries: list[dict[str, Any]]) -> bytes:
    return b"".join(to_json(entry) + b"\n" for entry in entries)


def _requested_filter(request: web.Request) -> AuditFilter:
    """Parse the query. Raises InvalidParameter."""
    return AuditFilter(
        actor=parameter(request, "actor"),
        action=parameter(request, "action"),
        target=parameter(request, "target"),
        outcome=one_of(request, "outcome", _OUTCOMES),
        after=requested_moment(request, "after"),
        before=requested_moment(request, "before"),
    )


PAGE: Final = 500
_ATTEMPTS: Final = 50


async def exported(
    client: KubeClient, organization: Organization, wanted: AuditFilter, *, page: int = PAGE
) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield all entries page by page, oldest first, one namespace after the other. Raises KubeError.

    A page is read when its predecessor is consumed (backpressure). When the continue token has expired, listing
    restarts after the last entry yielded: names sort by time, and entries are immutable.
    """
    for namespace in organization.namespaces:
        last, attempts = "", 0
        while True:
            attempts += 1
            selector = f"{ORGANIZATION_LABEL}={organization.name}"
            try:
                async for bodies, _ in client.pages(AUDIT_ENTRY, namespace, label_selector=selector, page=page):
                    fresh = [body for body in bodies if body["metadata"]["name"] > last]
                    if fresh:
                        last, attempts = fresh[-1]["metadata"]["name"], 0
                    entries = [entry for body in fresh if (entry := _view(body, organization)) is not None]
                    yield [entry for entry in entries if wanted.matches(entry)]
                break
            except KubeGone:
                if attempts >= _ATTEMPTS:
                    raise


def _view(body: dict[str, Any], organization: Organization) -> dict[str, Any] | None:
    try:
        spec = AuditEntrySpec.model_validate(body.get("spec") or {})
    except ValidationError:
        return None
    return audit_view(body["metadata"]["name"], spec) if spec.organization_ref.name == organization.name else None
