"""The list of runs: order, filters, expiry at its instant, and what a watch does to it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.no_cluster import NO_CLUSTER

from checklist_api.run_index import RunFilter, RunIndex
from checklist_crds.times import format_timestamp

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def index() -> Iterator[RunIndex]:
    index = RunIndex(NO_CLUSTER)
    yield index
    index.close()


def a_run(number: int, *, version: int = 1, minutes: float = 0, **changes: Any) -> dict[str, Any]:
    """A run as the cluster gives it; `changes`: organization, template, namespace, spec, status."""
    metadata = {"name": f"r-{number:04}", "namespace": changes.get("namespace", "main")}
    metadata |= {"resourceVersion": str(version), "creationTimestamp": "2026-11-21T11:59:00Z"}
    resolved = {
        **{"organization": changes.get("organization", "acme"), "templateId": changes.get("template", "t-1")},
        **{"templateVersion": 3, "templateName": "Opening", "revisionRef": {"name": "t-1-v3"}},
        **{"identityMode": "anonymous", "stepCount": 2, "applicableSteps": 2},
    }
    spec = {"createdAt": format_timestamp(START + timedelta(minutes=minutes)), "resolved": resolved}
    return {
        "metadata": metadata,
        "spec": spec | changes.get("spec", {}),
        "status": {"phase": "Pending"} | changes.get("status", {}),
    }


def listed(index: RunIndex, wanted: RunFilter | None = None, *, now: datetime = START, **page: int) -> list[str]:
    page = {"offset": 0, "limit": 100} | page
    _, runs = index.page("acme", ["main"], wanted or RunFilter(), now=now, **page)
    return [run["run_id"] for run in runs]


def test_the_newest_come_first_the_id_breaks_ties_and_pages_cut_the_list(index: RunIndex) -> None:
    for number, minutes in ((1, 5), (2, 9), (3, 5), (4, 1)):
        index.observe(a_run(number, minutes=minutes))
    index.observe(a_run(5, organization="globex"))
    index.observe(a_run(6, namespace="elsewhere"))
    assert listed(index) == ["r-0002", "r-0003", "r-0001", "r-0004"]
    assert listed(index, offset=1, limit=2) == ["r-0003", "r-0001"]
    assert index.page("acme", ["main"], RunFilter(), now=START, offset=100, limit=2) == (4, [])


def test_a_run_is_expired_at_its_instant_and_not_before_and_never_when_it_is_completed(index: RunIndex) -> None:
    expires_at = START + timedelta(seconds=10)
    spec = {"expiresAt": format_timestamp(expires_at)}
    index.observe(a_run(1, spec=spec))
    index.observe(a_run(2, spec={"expiresInHours": 0.00125}, minutes=1 / 60))
    index.observe(a_run(3, spec=spec, status={"phase": "Completed", "completedAt": "2026-11-21T11:00:00Z"}))
    before = expires_at - timedelta(milliseconds=1)
    assert listed(index, RunFilter(status="expired"), now=before) == ["r-0002"]
    assert listed(index, RunFilter(status="pending"), now=before) == ["r-0001"]
    assert listed(index, RunFilter(status="expired"), now=expires_at) == ["r-0002", "r-0001"]
    assert listed(index, RunFilter(status="completed"), now=START + timedelta(days=1)) == ["r-0003"]


def test_filters_hold_together(index: RunIndex) -> None:
    index.observe(a_run(1, template="t-1", spec={"executorRef": "order 7"}))
    index.observe(a_run(2, template="t-2", minutes=1, spec={"executorRef": "order 7"}))
    status = {"phase": "InProgress"}
    index.observe(a_run(3, template="t-2", minutes=2, spec={"executorRef": "order '8"}, status=status))
    assert listed(index, RunFilter(executor_ref="order 7")) == ["r-0002", "r-0001"]
    assert listed(index, RunFilter(executor_ref="order 7", template_id="t-2")) == ["r-0002"]
    assert listed(index, RunFilter(status="in_progress", executor_ref="order '8")) == ["r-0003"]
    assert listed(index, RunFilter(executor_ref="order")) == []
    middle = START + timedelta(minutes=1)
    assert listed(index, RunFilter(created_after=middle)) == ["r-0003"]
    assert listed(index, RunFilter(created_before=middle)) == ["r-0001"]


def test_a_late_old_state_does_not_replace_a_newer_one_and_a_deleted_run_leaves_the_list(index: RunIndex) -> None:
    index.observe(a_run(1, version=7, status={"phase": "Completed"}))
    index.observe(a_run(1, version=5))
    assert listed(index, RunFilter(status="completed")) == ["r-0001"]
    index.informer.forget(a_run(1))
    assert listed(index) == []


def test_a_run_that_is_not_admitted_is_not_listed_until_it_is_and_an_unreadable_one_stops_no_other(
    index: RunIndex,
) -> None:
    made_with_kubectl = a_run(1)
    resolved = made_with_kubectl["spec"].pop("resolved")
    index.observe(made_with_kubectl)
    index.observe(a_run(2, spec={"createdAt": "yesterday"}))
    assert listed(index) == []
    admitted = a_run(1, version=2, status={"resolved": resolved})
    del admitted["spec"]["resolved"]
    index.observe(admitted)
    assert listed(index) == ["r-0001"]
    assert list(index.owners_of("r-0001")) == ["main"]


def test_a_listed_run_shows_who_answers_and_how_far_it_got(index: RunIndex) -> None:
    identity, progress = {"name": "Ada", "email": "ada@example.com"}, {"total": 2, "answered": 1, "skipped": 0}
    status = {"phase": "InProgress", "startedAt": "2026-11-21T12:01:00.250Z"}
    body = a_run(1, status=status | {"identity": identity, "progress": progress})
    body["spec"]["resolved"]["identityMode"] = "external"
    index.observe(body)
    _, [run] = index.page("acme", ["main"], RunFilter(), now=START, offset=0, limit=1)
    assert run == {
        **{"run_id": "r-0001", "status": "in_progress", "executor_ref": None, "assigned_to": None},
        **{"template_id": "t-1", "template_v": 3, "template_name": "Opening"},
        **{"created_at": "2026-11-21T12:00:00.000Z", "started_at": "2026-11-21T12:01:00.250Z"},
        **dict.fromkeys(("completed_at", "cancelled_at", "expires_at")),
        **{"executor_identity": {"mode": "external"} | identity, "progress": progress},
    }
