"""The output of `make chaos` and its report, `.run/chaos.json`."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checklist_dev.perf.judgement.facts import Finding

_SHOWN = 5


class Transcript:
    """Lines with the seconds since the start, on standard output and in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        self._path = path
        self._started = time.monotonic()

    def say(self, line: str) -> None:
        text = f"{time.monotonic() - self._started:7.1f} s  {line}"
        print(text, flush=True)
        with self._path.open("a") as file:
            file.write(text + "\n")

    def title(self, line: str) -> None:
        self.say(f"== {line}")

    def report(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self.say(f"{'held  ' if finding.holds else 'BROKEN'}  {finding.name} ({finding.checked} checked)")
            for violation in finding.violations[:_SHOWN]:
                self.say(f"          {violation}")
            if len(finding.violations) > _SHOWN:
                self.say(f"          and {len(finding.violations) - _SHOWN} more")


@dataclass(slots=True)
class Result:
    """The result of one scene."""

    scene: str
    findings: list[Finding] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "scene": self.scene,
            "holds": self.holds,
            "figures": self.figures,
            "findings": [finding.as_json() for finding in self.findings],
            "logs": self.logs,
        }


def write_report(path: Path, results: Sequence[Result], about: Mapping[str, Any]) -> None:
    """`{holds, seed, seconds, ..., scenes: [{scene, holds, figures, findings, logs}]}`"""
    report = {
        "holds": all(result.holds for result in results),
        **about,
        "scenes": [result.as_json() for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
