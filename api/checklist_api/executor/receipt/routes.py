"""`GET receipt`: the PDF receipt of a completed run, for the bearer of its link.

Drawing takes seconds, and links are held by strangers: of one run there is one at a time, and receipts leave room in
the queue of PDFs for those of owners.
"""

import re
import unicodedata
from datetime import UTC, datetime, tzinfo
from typing import Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from aiohttp import web
from attrs import define

from checklist_crds.errors import RunExpired, RunNotCompleted
from checklist_crds.resources.run import IdentityMode, Run, RunPhase
from checklist_crds.runs.lifecycle import require_assignee
from checklist_crds.times import Clock

from ...auth.members import Member
from ...exports.pdf.printer import PdfPrinter
from ...exports.sending import ExportSlots
from ...http.pagination import invalid_parameter
from ...runs.access import RunAccess
from ..access import BASE, ExecutorGate, organization_of
from ..member import ExecutorMembers
from ..page_texts import language_for
from .content import receipt_content
from .texts import RECEIPT_TEXTS, AnswerText

RECEIPT: Final = f"{BASE}/receipt"
_AT_ONCE: Final = 4
"""Half of the queue of PDFs."""
_BUSY: Final = "Other receipts are being created. Try again when one is done."
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_MAX_ZONE: Final = 64
_MAX_NAME: Final = 80
_NOT_IN_NAMES: Final = frozenset('/\\:*?"<>|')


def receipt_slots() -> ExportSlots:
    """One receipt per run at a time, and four in this process."""
    return ExportSlots(per_owner=1, total=_AT_ONCE, busy=_BUSY)


@define(kw_only=True, eq=False, repr=False, slots=False)
class ReceiptRoutes:
    _runs: RunAccess
    _members: ExecutorMembers
    _printer: PdfPrinter
    _slots: ExportSlots
    _clock: Clock

    def add_to(self, router: web.UrlDispatcher, gate: ExecutorGate) -> None:
        router.add_get(RECEIPT, gate.guarded(self.receipt))

    async def receipt(self, request: web.Request) -> web.Response:
        """Raises InvalidParameter, RunNotFound, RunNotCompleted, RunExpired, RateLimited, ServiceUnavailable, and the
        refusals of a run for members."""
        organization, zone = organization_of(request), _requested_zone(request)
        run = await self._runs.of_organization(request.match_info["run_id"], organization)
        member = await self._members.answering(request, run)
        require_assignee(run, member.id if member is not None else None)
        _require_completed(run, self._clock())
        words = AnswerText(RECEIPT_TEXTS[language_for(request.headers.get("Accept-Language", ""))], zone)
        body = b""
        if request.method != "HEAD":
            content = receipt_content(
                run,
                await self._runs.definition(run),
                sender=run.spec.created_by_name or organization.display_name,
                answered_by=_answered_by(run, member),
                words=words,
            )
            with self._slots.taken(run.id):
                body = await self._printer.print(content)
        headers = {
            "Content-Type": "application/pdf",
            "Content-Disposition": _file_name(run, words),
            "Content-Language": words.texts.language,
            "Cache-Control": "private, no-store",
            "Vary": "Accept-Language",
            "X-Content-Type-Options": "nosniff",
        }
        return web.Response(body=body, headers=headers)


def _require_completed(run: Run, now: datetime) -> None:
    match run.phase_at(now):
        case RunPhase.COMPLETED:
            return
        case RunPhase.EXPIRED:
            raise RunExpired()
        case RunPhase.CANCELLED:
            raise RunNotCompleted("The run is cancelled; only a completed run has a receipt.")
    raise RunNotCompleted()


def _answered_by(run: Run, member: Member | None) -> str:
    """Return who answered, as the app shows them; empty for an anonymous person."""
    given = run.status.identity
    if member is not None:
        return member.display_name
    if run.admitted_as.identity_mode is not IdentityMode.EXTERNAL or given is None:
        return ""
    return ", ".join(part for part in (given.name, given.email) if part)


def _requested_zone(request: web.Request) -> tzinfo:
    """Return the time zone of the query; UTC without one, and for one that this machine does not know.

    Raises InvalidParameter if it is no name of a time zone.
    """
    given = request.query.getall("time_zone", [])
    if not given:
        return UTC
    if len(given) > 1 or len(given[0]) > _MAX_ZONE or not _ZONE.fullmatch(given[0]):
        raise invalid_parameter("time_zone", "must be the name of a time zone such as Europe/Berlin")
    try:
        return ZoneInfo(given[0])
    except (LookupError, ValueError, OSError):
        return UTC


def _file_name(run: Run, words: AnswerText) -> str:
    """Return the header of a file that is named after the checklist and the day, and in ASCII after the run."""
    moment = words.local(run.status.completed_at or run.created_at)
    title = "".join(
        each
        for each in run.admitted_as.template_name
        if each not in _NOT_IN_NAMES and unicodedata.category(each)[0] != "C"
    )
    name = f"{' '.join(title.split())[:_MAX_NAME].strip('. ')} {moment.date().isoformat()}.pdf".strip()
    ascii_name = f"receipt-{run.id.removeprefix('r-')}.pdf"
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"
