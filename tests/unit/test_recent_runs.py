"""What the API remembers of runs that it changed a moment ago."""

from typing import Any

from checklist_api.recent_runs import RecentRuns
from checklist_crds.run_types import Run


def body(name: str, version: int, *, namespace: str = "home", last_step: str | None = None) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": "u",
            "resourceVersion": str(version),
            "generation": 1,
            "creationTimestamp": "2026-11-21T10:00:00Z",
        },
        "spec": {"organizationRef": {"name": "acme"}},
        "status": {"lastStepId": last_step} if last_step else {},
    }


def run(name: str, version: int, **more: Any) -> Run:
    return Run.parse(body(name, version, **more))


def version_of(runs: RecentRuns, name: str, namespace: str = "home") -> int | None:
    known = runs.get((namespace, name))
    return int(known.resource_version) if known else None


def test_the_newest_state_is_remembered_in_whatever_order_it_comes() -> None:
    runs = RecentRuns()
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


def test_runs_that_nobody_changed_here_are_not_taken_from_the_watch() -> None:
    runs = RecentRuns()
    runs.learn("UPSERT", body("r-1", 1))
    assert len(runs) == 0


def test_the_same_name_elsewhere_is_another_run_and_a_deleted_run_is_forgotten() -> None:
    runs = RecentRuns()
    runs.put(run("r-1", 1))
    runs.learn("UPSERT", body("r-1", 7, namespace="elsewhere"))
    assert version_of(runs, "r-1") == 1
    assert version_of(runs, "r-1", "elsewhere") is None
    runs.learn("DELETE", {"metadata": {"name": "r-1", "namespace": "home"}})
    assert version_of(runs, "r-1") is None


def test_only_so_many_are_kept_and_the_least_used_go_first() -> None:
    runs = RecentRuns(remembered=2)
    runs.put(run("r-1", 1))
    runs.put(run("r-2", 2))
    assert version_of(runs, "r-1") == 1
    runs.put(run("r-3", 3))
    assert len(runs) == 2
    assert version_of(runs, "r-2") is None
    assert version_of(runs, "r-1") == 1
