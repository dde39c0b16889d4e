"""What the API remembers of changes: the newest, in order, bounded, and never silently incomplete."""

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from checklist_api.dashboard.live.live_changes import LiveChange, LiveKind, RecentChanges, Scope
from checklist_api.runs.recent import RecentRuns
from checklist_crds.resources.run import Run

ALL = Scope(("home",), admin=True)
_changes = st.lists(st.tuples(st.sampled_from(["run", "key"]), st.integers(0, 6)), max_size=40)


def _after(recent: RecentChanges, number: int, scope: Scope = ALL) -> list[tuple[str, str, str]] | None:
    changes = recent.after(number, scope)
    if changes is None:
        return None
    return [(each["kind"], each["id"], each["status"]) for each in map(orjson.loads, changes)]


@given(given=_changes, kept=st.integers(1, 8), seen=st.integers(0, 40))
def test_resume_gives_all_newer_changes_or_nothing(given: list[tuple[str, int]], kept: int, seen: int) -> None:
    recent = RecentChanges(kept)
    for number, (kind, name) in enumerate(given, start=1):
        recent.add(LiveChange(LiveKind(kind), f"{name}", "home", more={"status": str(number)}))
    newest = {(kind, str(name)): number for number, (kind, name) in enumerate(given, start=1) if number > seen}
    expected = [(*subject, str(number)) for subject, number in sorted(newest.items(), key=lambda item: item[1])]
    found = _after(recent, seen)
    if seen > len(given):
        assert found is None
    elif found is not None:
        assert found == expected
        assert len(newest) <= kept
    else:  # something after `seen` was let go of, and nothing newer of it is here
        assert len(set(given)) > kept


def test_what_is_left_out_is_only_what_the_viewer_may_not_hear_of() -> None:
    recent = RecentChanges()
    for kind in LiveKind:
        recent.add(LiveChange(kind, "one", "home", more={"status": "x"}))
    recent.add(LiveChange(LiveKind.RUN, "two", "elsewhere", more={"status": "x"}))
    seen = _after(recent, 0, Scope(("home",), admin=False)) or []
    assert [kind for kind, _, _ in seen] == ["run", "delivery", "replay", "template"]
    assert len(_after(recent, 0) or []) == len(LiveKind)


def test_memory_is_bounded() -> None:
    recent = RecentChanges(kept=10)
    for number in range(1000):
        recent.add(LiveChange(LiveKind.RUN, str(number), "home", more={"status": "x"}))
    assert len(recent._entries) == len(_after(recent, 990) or []) == 10
    assert _after(recent, 0) is _after(recent, 989) is None


def body(name: str, version: int, *, namespace: str = "home", last_step: str | None = None) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": "u", "resourceVersion": str(version), "generation": 1}
    return {
        "metadata": metadata | {"creationTimestamp": "2026-11-21T10:00:00Z"},
        "spec": {"organizationRef": {"name": "acme"}},
        "status": {"lastStepId": last_step} if last_step else {},
    }


def run(name: str, version: int) -> Run:
    return Run.parse(body(name, version))


def version_of(runs: RecentRuns, name: str, namespace: str = "home") -> int | None:
    known = runs.get((namespace, name))
    return int(known.resource_version) if known else None


def test_the_newest_state_is_remembered_in_whatever_order_it_comes() -> None:
    runs = RecentRuns()
    runs.apply("UPSERT", body("r-1", 1))
    assert len(runs) == 0, "runs that were not changed here are not taken from the watch"
    runs.put(run("r-1", 5))
    runs.apply("UPSERT", body("r-1", 4))
    assert version_of(runs, "r-1") == 5
    runs.apply("UPSERT", body("r-1", 9, last_step="s-2"))
    known = runs.get(("home", "r-1"))
    assert known is not None
    assert known.status.last_step_id == "s-2"
    runs.put(run("r-1", 8))
    assert version_of(runs, "r-1") == 9
    runs.apply("UPSERT", body("r-1", 10))
    assert version_of(runs, "r-1") == 10, "versions are compared as numbers"
    runs.apply("UPSERT", body("r-1", 11, namespace="elsewhere"))
    assert (version_of(runs, "r-1"), version_of(runs, "r-1", "elsewhere")) == (10, None)
    runs.apply("DELETE", {"metadata": {"name": "r-1", "namespace": "home"}})
    assert version_of(runs, "r-1") is None


def test_only_so_many_are_kept_and_the_least_used_go_first() -> None:
    runs = RecentRuns(runs=2)
    for number in (1, 2, 3):
        runs.put(run(f"r-{number}", number))
        assert version_of(runs, "r-1") == 1
    assert [version_of(runs, name) for name in ("r-1", "r-2", "r-3")] == [1, None, 3]
    large = RecentRuns(capacity=10_000)
    for number in range(9):
        large.put(replace(run(f"r-{number}", number), stored={"records": "x" * 4_000}))
    assert len(large) == 2
