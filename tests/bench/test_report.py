"""How figures are judged and shown."""

import json
from pathlib import Path

from checklist_dev.perf.bench.growth.scale import writes
from checklist_dev.perf.bench.report import Figure, Goal, of_rounds, table, write_report


def test_a_missed_goal_is_shown_and_written(tmp_path: Path) -> None:
    figures = [
        of_rounds("ratio", [0.5, 0.7, 0.4], "", goal=Goal(">=", 0.6), baseline="raw: 400/s"),
        Figure("memory", 120.0, "MiB"),
    ]
    write_report(tmp_path / "bench.json", figures)
    first, second = json.loads((tmp_path / "bench.json").read_text())
    assert (first["value"], first["goal"], first["holds"], first["min"], first["max"]) == (
        0.5,
        ">= 0.6",
        False,
        0.4,
        0.7,
    )
    assert first["baseline"] == "raw: 400/s"
    assert (second["goal"], second["holds"], second["baseline"]) == (None, None, None)
    assert "MISSED  ratio" in table(figures)


def test_only_writes_of_our_own_kinds_are_counted() -> None:
    def line(group: str, resource: str, subresource: str, verb: str, count: int, *, code: int = 200) -> str:
        labels = {"code": code, "group": group, "resource": resource, "subresource": subresource, "verb": verb}
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        return f"apiserver_request_total{{{text}}} {count}"

    text = "\n".join(
        [
            "# TYPE apiserver_request_total counter",
            line("checklists.dev", "runs", "status", "PATCH", 3),
            line("checklists.dev", "runs", "status", "PATCH", 1, code=409),
            line("checklists.dev", "runs", "", "LIST", 9),
            line("coordination.k8s.io", "leases", "", "PUT", 7),
        ]
    )
    assert writes(text) == {"PATCH runs/status": 4}
