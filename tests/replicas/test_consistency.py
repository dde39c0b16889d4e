"""No lost update with several replicas: a short load on real processes, and what the checks of its history find."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checklist_dev.chaos.transcript import Transcript
from checklist_dev.consistency.checks import CHECKS, check_all
from checklist_dev.consistency.history import FinalState, History, Op
from checklist_dev.consistency.scene import mixed_operations
from checklist_dev.load.rig import Rig

RUNS = frozenset({"r-1", "r-2"})
FINAL = FinalState(RUNS, 2, 2, (RUNS, RUNS), {"key-1": (401, 401)})


def op(kind: str, subject: str, at: float, *, status: int = 200, replica: int = 0, **more: Any) -> Op:
    return Op(kind, subject, replica, at, at + 1.0, status, **more)


def run(status: str = "in_progress", **answers: str) -> dict[str, Any]:
    return {"status": status, "answers": answers}


def template(v: int, number: int) -> dict[str, Any]:
    return {"v": v, "number": number, "name": "Round"}


GOOD = [
    op("dispatch", "a", 0, status=201, read="r-1"),
    op("dispatch", "a", 0.5, replica=1, status=201, read="r-1"),
    op("dispatch", "b", 1, status=201, read="r-2"),
    op("dispatch", "c", 3, status=402),
    op("list", "runs", 4, wrote="r-2", read=["r-2", "r-1"]),
    op("answer", "r-1", 10, wrote=("s", "one")),
    op("answer", "r-1", 10.5, replica=1, wrote=("s", "two")),
    op("answer", "r-1", 10.5, replica=1, status=503, wrote=("t", "unsure")),
    op("repeat", "r-1", 12, replica=1, wrote=("s", "one"), read=True),
    op("read", "r-1", 12, read=run(s="one", t="unsure")),
    op("end", "r-1", 20, wrote="completed"),
    op("end", "r-1", 20, replica=1, status=409, wrote="cancelled"),
    op("answer", "r-1", 22, status=409, wrote=("s", "late")),
    op("read", "r-1", 24, read=run("completed", s="one")),
    op("increment", "t", 30, wrote=(1, 1), read=template(2, 1)),
    op("rename", "t", 31.5, wrote="Round 7", read=template(3, 1)),
    op("increment", "t", 33, status=412, wrote=(2, 2), read={}),
    op("template", "t", 35, replica=1, read=template(3, 1)),
    op("use", "key-1", 40),
    op("revoke", "key-1", 42),
    op("use", "key-1", 42.5, replica=1),
    op("use", "key-1", 44, replica=1, status=401),
]

WRONG: dict[str, tuple[dict[int, Any], dict[str, Any], list[Op]]] = {
    "an answer is gone": ({9: {"read": run()}}, {}, []),
    "an answer that was replaced is seen": (
        {},
        {},
        [op("answer", "r-1", 15, wrote=("s", "three")), op("read", "r-1", 17, read=run(s="two"))],
    ),
    "a refused answer is seen": ({13: {"read": run("completed", s="late")}}, {}, []),
    "an answer is seen that nobody gave": ({9: {"read": run(s="none of these")}}, {}, []),
    "an answer is taken after the end": ({12: {"status": 200}, 13: {"read": run("completed", s="late")}}, {}, []),
    "a repeated answer counts again": ({8: {"read": False}}, {}, []),
    "a run ends twice": ({11: {"status": 200}}, {}, []),
    "a run that ended is open again": ({13: {"read": run(s="one")}}, {}, []),
    "two changes of a template make one version": ({15: {"read": template(2, 0)}}, {}, []),
    "an increment is lost": ({17: {"read": template(3, 0)}}, {}, []),
    "a version is left out": ({15: {"read": template(4, 1)}, 17: {"read": template(4, 1)}}, {}, []),
    "a replica forgets what it told": ({}, {}, [op("template", "t", 37, replica=1, read=template(2, 1))]),
    "one Idempotency-Key makes two runs": ({1: {"read": "r-2"}}, {}, []),
    "a run is gone": ({}, {"runs": frozenset({"r-1"}), "used": 1}, []),
    "a run is there that nobody was told of": ({}, {"runs": RUNS | {"r-3"}, "used": 3, "limit": 3}, []),
    "one run too few is counted": ({}, {"used": 1}, []),
    "one run too many is made": ({}, {"limit": 1}, []),
    "the plan ends too early": ({}, {"limit": 3}, []),
    "a replica does not list a run": ({}, {"told": (RUNS, frozenset({"r-1"}))}, []),
    "one's own run is not in the list": ({4: {"read": ["r-1"]}}, {}, []),
    "a key that nobody revoked is refused": ({18: {"status": 401}}, {}, []),
    "a revoked key opens again": ({}, {}, [op("use", "key-1", 50, replica=1)]),
    "a revoked key goes on to open a replica": ({}, {"key_statuses": {"key-1": (401, 200)}}, []),
    "a request fails": ({5: {"status": 500}}, {}, []),
}


def test_a_history_without_a_lost_update_has_no_finding() -> None:
    assert [finding.violations for finding in check_all(History(GOOD), FINAL)] == [[]] * len(CHECKS)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_with_a_history_is_found_once(what: str) -> None:
    changes, state, more = WRONG[what]
    ops = [replace(one, **changes.get(number, {})) for number, one in enumerate(GOOD)] + more
    broken = [finding.name for finding in check_all(History(ops), replace(FINAL, **state)) if not finding.holds]
    assert len(broken) == 1, broken


async def test_four_replicas_lose_no_update(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "transcript.txt")
    with Rig(tmp_path / "rig", fsync=False, report=transcript.say) as rig:
        result = await mixed_operations(rig, transcript, operations=2_000, seed=20_261_122)
    transcript.tell(result.findings)
    assert result.holds, [finding.as_json() for finding in result.findings if not finding.holds]
    assert result.figures["writes_acknowledged"] >= 300
    assert all(finding.checked > 0 for finding in result.findings)
