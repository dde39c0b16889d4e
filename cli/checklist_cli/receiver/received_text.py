"""The output of `listen` for a request: a line, a line and the event, or a JSON object."""

import json
from enum import StrEnum
from typing import Any

from checklist_crds.times import format_optional

from ..console.terminal import Paint, plain, pretty_json
from .answer_script import Answer
from .listener import Received
from .seen_deliveries import Novelty
from .verification import Report, Verdict


class Form(StrEnum):
    FULL = "full"
    LINE = "line"
    JSON = "json"


def received_text(received: Received, form: Form, paint: Paint) -> str:
    """The request in one of the three forms, without a line end."""
    if form is Form.JSON:
        return json.dumps(_document(received), ensure_ascii=True)
    line = _line(received, paint)
    if form is Form.FULL and received.envelope is not None and received.novelty is Novelty.NEW:
        return f"{line}\n{pretty_json(received.envelope)}"
    return line


def _line(received: Received, paint: Paint) -> str:
    at = received.request.received_at
    clock = at.astimezone().strftime("%H:%M:%S.%f")[:-3] if at else ""
    start = f"{clock} {answer_word(received.answer)}"
    failed, event = received.report.first_failure, received.envelope
    if failed is not None:
        remedy = f"\n{'':<17}→ {plain(failed.remedy)}" if failed.remedy else ""
        return f"{start} {paint('red', 'refused')}: {failed.name}: {plain(failed.says)}{remedy}"
    if event is None or received.novelty is None:
        return f"{start} {paint('red', 'refused')}"
    about = plain(f"{event['event']} {event['event_id']} attempt {event['delivery_attempt']} of {event['run_id']}")
    if received.novelty is Novelty.COPIED:
        return f"{start} {paint('red', 'refused')}: an exact copy of an earlier transmission: {about}"
    if received.novelty is Novelty.DUPLICATE:
        return f"{start} {paint('yellow', 'duplicate')}: {about}"
    return f"{start} {paint('green', 'verified')}: {about}"


def answer_word(answer: Answer) -> str:
    """`204`, `drop`, `500 after 3 s`."""
    word = "drop" if answer.status is None else str(answer.status)
    return f"{word} after {answer.delay_s:g} s" if answer.delay_s else word


def _document(received: Received) -> dict[str, Any]:
    failed = received.report.first_failure
    return {
        "received_at": format_optional(received.request.received_at),
        "genuine": received.report.is_genuine,
        "novelty": received.novelty,
        "failed_check": failed and failed.name,
        "answer": received.answer.status,
        "delay_s": received.answer.delay_s,
        "envelope": received.envelope,
    }


_COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.UNJUDGED: "dim"}


def report_lines(report: Report, paint: Paint) -> list[str]:
    """A line per check, with the remedy below a failed one; the result at the end."""
    lines = []
    for check in report.checks:
        verdict = paint(_COLOURS[check.verdict], f"{check.verdict.value:<4}")
        lines.append(f"{verdict}  {check.name:<16}  {plain(check.says)}")
        if check.remedy is not None:
            lines.append(f"{'':<24}→ {plain(check.remedy)}")
    failed = report.first_failure
    lines.append("genuine" if report.is_genuine else f"NOT genuine: {failed.name if failed else 'incomplete'}")
    return lines


def report_json(report: Report) -> str:
    """The report as JSON: {genuine, checks: [{name, verdict: ok|failed|unjudged, says, remedy}]}."""
    words = {Verdict.PASSED: "ok", Verdict.FAILED: "failed", Verdict.UNJUDGED: "unjudged"}
    checks: list[dict[str, Any]] = [
        {"name": check.name, "verdict": words[check.verdict], "says": check.says, "remedy": check.remedy}
        for check in report.checks
    ]
    return json.dumps({"genuine": report.is_genuine, "checks": checks}, ensure_ascii=True)
