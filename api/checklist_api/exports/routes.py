"""`GET /v1/exports` and `GET /v1/runs/{run_id}/export`, also used by the dashboard."""

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from aiohttp import web
from attrs import define

from checklist_crds.errors import RunNotFound, ServiceUnavailable
from checklist_crds.resources.template_definition import Definition
from checklist_crds.times import Clock
from checklist_crds.values.csv_cells import BOM

from ..archive.incomplete import Incomplete
from ..archive.reading import ArchivedRuns
from ..auth.gate import Caller, Gate
from ..auth.members import MemberDirectory
from ..http.pagination import invalid_parameter, one_of
from ..index.runs import RunIndex
from ..runs.access import RunAccess
from ..runs.routes import requested_filter
from .csv_answers import AnswerRows
from .csv_runs import RunRows
from .documents import GeoJson, JsonLines
from .labelled import ExportContext
from .pdf.printer import PdfPrinter
from .pdf.run_content import content_of, document_of
from .run_source import ExportedRun, RunSource, definition_of
from .sending import ExportSlots, Format, send
from .stable_links import stable_links

FORMATS: Final = ("csv", "jsonl", "geojson")
RUN_FORMATS: Final = ("pdf", "json")
ROWS: Final = ("answers", "runs")
MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8; header=present",
    "jsonl": "application/jsonl; charset=utf-8",
    "geojson": "application/geo+json",
    "pdf": "application/pdf",
    "json": "application/json",
}
_DEFINITION_TRIES: Final = 10
"""Runs of a version to read its checklist from, in case some are removed concurrently."""
_ARCHIVE_RETRY_AFTER_S: Final = 10
_BOOLEANS: Final = ("true", "false")


@define(kw_only=True, eq=False, repr=False, slots=False)
class ExportRoutes:
    _runs: RunAccess
    _index: RunIndex
    _archived: ArchivedRuns
    _members: MemberDirectory
    _slots: ExportSlots
    _printer: PdfPrinter
    _clock: Clock
    _base_url: str

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        router.add_get("/v1/exports", gate.owner(self.runs))
        router.add_get("/v1/runs/{run_id}/export", gate.owner(self.run))

    def base(self, _: Caller) -> str:
        """Return the base URL of photo links."""
        return f"{self._base_url}/v1"

    async def runs(self, request: web.Request, caller: Caller) -> web.StreamResponse:
        """Raises InvalidParameter, RateLimited, and ServiceUnavailable while the archive is unavailable."""
        kind, wanted = _requested_format(request, FORMATS), requested_filter(request)
        rows, bom = one_of(request, "rows", ROWS), one_of(request, "bom", _BOOLEANS)
        if kind != "csv" and (rows is not None or bom is not None):
            raise invalid_parameter("rows" if rows is not None else "bom", "requires format=csv")
        if rows == "runs" and wanted.template_id is None:
            raise invalid_parameter("template_id", "is required with rows=runs: the columns are the template's steps")
        moment = self._clock()
        source = RunSource(self._index, self._runs, caller.organization, wanted, moment)
        context = self._context(caller, moment, self.base(caller))
        with self._slots.taken(caller.organization.name):
            total = await source.total()
            lacking = self._archived.incomplete(caller.organization)
            if lacking not in (None, Incomplete.DAMAGED):
                raise ServiceUnavailable(f"{lacking.message} Try again.", retry_after_s=_ARCHIVE_RETRY_AFTER_S)
            made: Format
            match kind:
                case "jsonl":
                    made = JsonLines(context)
                case "geojson":
                    made = GeoJson(context)
                case _ if rows == "runs":
                    made = RunRows(context, await _versions(source) if request.method != "HEAD" else ())
                case _:
                    made = AnswerRows(context)
            if kind == "csv" and bom != "false":
                made = _WithBom(made)
            return await send(
                request,
                source,
                made,
                total=total,
                media_type=MEDIA_TYPES[kind],
                name=f"runs-{moment.date().isoformat()}.{kind}",
                lacking=None if lacking is None else lacking.value,
            )

    async def run(self, request: web.Request, caller: Caller) -> web.Response:
        """Export one run as a document. Raises InvalidParameter, RunNotFound, ServiceUnavailable."""
        organization = caller.organization
        kind, moment = _requested_format(request, RUN_FORMATS), self._clock()
        run = await self._runs.of_organization(request.match_info["run_id"], organization)
        exported = ExportedRun(run, await definition_of(self._runs, run))
        # Always REST API links, so that the digest does not depend on the caller.
        context = self._context(caller, moment, f"{self._base_url}/v1")
        body = b""
        if kind == "json":
            body = document_of(exported, context)
        elif request.method != "HEAD":
            body = await self._printer.print(content_of(exported, context, organization.display_name))
        headers = {
            "Content-Type": MEDIA_TYPES[kind],
            "Content-Disposition": f'attachment; filename="run-{run.id.removeprefix("r-")}.{kind}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(body=body, headers=headers)

    def _context(self, caller: Caller, moment: datetime, base: str) -> ExportContext:
        members = self._members.of_organization(caller.organization.name)
        return ExportContext({member.id: member.display_name for member in members}, moment, stable_links(base))


class _WithBom:
    """A format with a byte order mark."""

    def __init__(self, made: Format) -> None:
        self.of_run, self.tail = made.of_run, made.tail
        self._head = made.head

    def head(self) -> bytes:
        return BOM + self._head()


async def _versions(source: RunSource) -> list[Definition]:
    """Return the definitions of all versions of the runs, newest first."""
    of_version: defaultdict[int, list[str]] = defaultdict(list)
    async for page in source.summaries():
        for run in page:
            if len(of_version[run["template_v"]]) < _DEFINITION_TRIES:
                of_version[run["template_v"]].append(run["run_id"])
    found = []
    for version in sorted(of_version, reverse=True):
        for run_id in of_version[version]:
            with contextlib.suppress(RunNotFound):  # removed concurrently
                found.append((await source.one(run_id)).definition)
                break
    return found


def _requested_format(request: web.Request, formats: Sequence[str]) -> str:
    kind = one_of(request, "format", formats)
    if kind is None:
        raise invalid_parameter("format", f"is required: one of {', '.join(formats)}")
    return kind
