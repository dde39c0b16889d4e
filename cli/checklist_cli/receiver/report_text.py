"""A report of checks as lines for a person, or as JSON for a program."""

import json
from typing import Any

from ..console.terminal import Paint, plain
from .verification import Report, Verdict

_COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.UNJUDGED: "dim"}


def report_lines(report: Report, paint: Paint) -> list[str]:
    """One line a check, and below what failed how to mend it; the verdict at the end."""
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
    """The same as a document: {genuine, checks: [{name, verdict: ok|failed|unjudged, says, remedy}]}."""
    words = {Verdict.PASSED: "ok", Verdict.FAILED: "failed", Verdict.UNJUDGED: "unjudged"}
    checks: list[dict[str, Any]] = [
        {"name": check.name, "verdict": words[check.verdict], "says": check.says, "remedy": check.remedy}
        for check in report.checks
    ]
    return json.dumps({"genuine": report.is_genuine, "checks": checks}, ensure_ascii=True)
