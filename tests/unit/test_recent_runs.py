"""What the API remembers of runs that it changed a moment ago."""

from typing import Any

from checklist_api.recent_runs import RecentRuns
from checklist_crds.run_types import Run


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
    runs.learn("UPSERT", body("r-1", 1))
    assert len(runs) == 0, "runs that were not changed here are not taken from the watch"
    runs.put(run("r-1", 5))
    runs.learn("UPSERT", body("r-1", 4))
    assert version_of(runs, "r-1") == 5
    runs.learn("UPSERT", body("r-1", 9, last_step="s-2"))
    known = runs.get(("home", "r-1"))
    assert known is not None
    assert known.status.last_step_id == "s-2"
    runs.put(run("r-1", 8))
    assert version_of(runs, "r-1") == 9
    runs.learn("UPSERT", body("r-1", 10))
    assert version_of(runs, "r-1") == 10, "versions are compared as numbers"
    runs.learn("UPSERT", body("r-1", 11, namespace="elsewhere"))
    assert (version_of(runs, "r-1"), version_of(runs, "r-1", "elsewhere")) == (10, None)
    runs.learn("DELETE", {"metadata": {"name": "r-1", "namespace": "home"}})
    assert version_of(runs, "r-1") is None


def test_only_so_many_are_kept_and_the_least_used_go_first() -> None:
    runs = RecentRuns(remembered=2)
    for number in (1, 2, 3):
        runs.put(run(f"r-{number}", number))
        assert version_of(runs, "r-1") == 1
    assert [version_of(runs, name) for name in ("r-1", "r-2", "r-3")] == [1, None, 3]
