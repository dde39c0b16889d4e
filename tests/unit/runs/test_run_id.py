"""The public id of a run: its name where that is an id, else the one that it got at admission."""

import sqlite3
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.kube.memory_cluster import NO_CLUSTER

from checklist_api.index.run_filter import RunFilter
from checklist_api.index.run_names import RunNames
from checklist_api.index.runs import RunIndex
from checklist_crds.ids import is_id, keyed_id, new_id
from checklist_crds.kube.run_writes import status_patch
from checklist_crds.limits.retention import is_admitted
from checklist_crds.resources.run import Run, RunPhase
from checklist_crds.resources.run_id import is_of_run, resolved_of, run_id_of, run_id_of_delivery
from checklist_crds.runs.row import row_of_run
from checklist_crds.times import utc_now

Json = dict[str, Any]
RESOLVED: Json = {
    **{"organization": "acme", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"},
    **{"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1},
}
NAMES = st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,40}[a-z0-9])?\Z")


def a_run(name: str, run_id: str | None = None, *, version: int = 1, namespace: str = "main", **status: Any) -> Json:
    """A run made with kubectl; admitted with `run_id`."""
    metadata = {"name": name, "namespace": namespace, "uid": str(uuid.uuid4()), "resourceVersion": str(version)}
    admitted = {} if run_id is None else {"resolved": RESOLVED | {"runId": run_id}}
    return {
        "metadata": metadata | {"creationTimestamp": "2026-11-21T12:00:00Z"},
        "spec": {"templateRef": {"name": "opening"}},
        "status": {"phase": "Pending"} | admitted | status,
    }


def test_a_thousand_runs_with_one_prefix_have_a_thousand_ids() -> None:
    key = b"k" * 32
    ids = {keyed_id("r", key, "main", str(uuid.uuid4())) for _ in range(1000)}
    assert len(ids) == 1000
    assert all(is_id("r", one) for one in ids)
    uid = str(uuid.uuid4())
    assert keyed_id("r", key, "main", uid) == keyed_id("r", key, "main", uid), "counted once, however often it is tried"
    assert keyed_id("r", b"o" * 32, "main", uid) != keyed_id("r", key, "main", uid), "unpredictable without the key"


@given(name=NAMES, run_id=st.uuids().map(lambda one: f"r-{one}"))
def test_every_reader_has_the_same_id_and_none_before_admission(name: str, run_id: str) -> None:
    waiting, admitted = a_run(name), a_run(name, run_id)
    expected = name if is_id("r", name) else run_id
    for body in (admitted, a_run(name, run_id, phase="Completed")):
        run = Run.parse(body)
        row = row_of_run(body)
        assert row is not None
        assert (run_id_of(body), run.public_id, run.id, row[0]) == (expected,) * 4
    assert (run_id_of(waiting), resolved_of(waiting), is_admitted(waiting)) == (None, None, False)
    run = Run.parse(waiting)
    assert (run.public_id, run.resolved, row_of_run(waiting)) == (None, None, None)
    with pytest.raises(ValueError, match="has no id yet"):
        _ = run.id


def test_a_run_named_by_its_id_keeps_it_whatever_its_status_says() -> None:
    name, other = new_id("r"), new_id("r")
    assert run_id_of(a_run(name)) == Run.parse(a_run(name)).id == name
    assert run_id_of(a_run(name, other)) == Run.parse(a_run(name, other)).id == name


def test_a_run_with_another_name_that_was_admitted_without_an_id_counts_as_not_admitted() -> None:
    """As an operator of an earlier version would admit it."""
    body = a_run("daily", resolved=RESOLVED)
    assert (resolved_of(body), Run.parse(body).resolved, row_of_run(body)) == (None, None, None)


def test_an_id_in_the_status_of_another_form_is_none() -> None:
    assert run_id_of(a_run("daily", "daily")) is None


def test_a_delivery_belongs_to_the_run_with_its_id_not_to_a_later_one_of_the_name() -> None:
    first, second = new_id("r"), new_id("r")
    delivery = {"spec": {"runRef": {"name": "daily"}, "runId": first}}
    assert run_id_of_delivery(delivery) == first
    assert is_of_run(delivery, a_run("daily", first))
    assert not is_of_run(delivery, a_run("daily", second))
    assert not is_of_run(delivery, a_run("daily"))
    assert is_of_run({"spec": {"runRef": {"name": first}}}, a_run(first)), "of an earlier version"


def test_a_write_to_a_name_that_may_be_used_again_tests_the_uid() -> None:
    body = a_run("daily", new_id("r"))
    run = Run.parse(body)
    after = run.status.model_copy(update={"phase": RunPhase.IN_PROGRESS})
    tested = [one for one in status_patch(run, after) if one["path"] == "/metadata/uid"]
    assert tested == [{"op": "test", "path": "/metadata/uid", "value": body["metadata"]["uid"]}]
    named = Run.parse(a_run(new_id("r")))
    assert all(one["path"] != "/metadata/uid" for one in status_patch(named, after))


def test_names_and_ids_are_found_from_each_other_until_the_object_is_gone() -> None:
    names = RunNames(sqlite3.connect(":memory:"))
    first, second, third = (new_id("r") for _ in range(3))
    assert names.apply("UPSERT", a_run("daily")) == (None, None)
    assert names.apply("UPSERT", a_run("daily", first)) == (None, first)
    assert names.apply("UPSERT", a_run("daily", third, namespace="other")) == (None, third)
    assert (names.id_at("main", "daily"), names.name_of(first, "main")) == (first, "daily")
    assert (names.id_at("other", "daily"), names.name_of(first, "other")) == (third, first)
    assert names.apply("UPSERT", a_run("daily", second)) == (first, second), "deleted and made again unseen"
    assert names.name_of(first, "main") == first
    gone = {"metadata": {"namespace": "main", "name": "daily"}}
    assert names.apply("DELETE", gone) == (second, None)
    assert (names.id_at("main", "daily"), names.id_at("other", "daily")) == (None, third)
    assert names.apply("UPSERT", a_run(second)) == (second, second)
    assert names.apply("DELETE", {"metadata": {"namespace": "main", "name": second}}) == (second, None)


@pytest.fixture
def index() -> RunIndex:
    return RunIndex(NO_CLUSTER)


def listed(index: RunIndex) -> list[str]:
    _, page = index.page("acme", ["main"], RunFilter(), now=utc_now(), offset=0, limit=100)
    return [run["run_id"] for run in page]


def test_the_index_lists_runs_by_id_and_forgets_them_with_their_names(index: RunIndex) -> None:
    ids = [new_id("r") for _ in range(20)]
    for number, run_id in enumerate(ids):
        index.observe(a_run(f"daily-{number}", run_id))
    assert sorted(listed(index)) == sorted(ids)
    assert index.places_of(ids[3]) == [("main", "daily-3")]
    assert index.has(ids[3], "main")
    assert not index.has("daily-3", "main")
    index.informer.forget({"metadata": {"namespace": "main", "name": "daily-3"}})
    assert sorted(listed(index)) == sorted({*ids} - {ids[3]})
    assert index.places_of(ids[3]) == []


def test_a_name_that_is_used_again_lists_the_new_run_only(index: RunIndex) -> None:
    first, second = new_id("r"), new_id("r")
    index.observe(a_run("daily", first, version=1))
    index.observe(a_run("daily", version=2))
    assert listed(index) == []
    index.observe(a_run("daily", second, version=3))
    assert listed(index) == [second]
    index.observe(a_run("daily", first, version=4))
    assert listed(index) == [first]


def test_a_finished_run_whose_name_is_used_again_stays_listed_until_the_archive_was_asked(index: RunIndex) -> None:
    leaving: list[tuple[str, tuple[str, str]]] = []
    index.on_leaving(lambda organization, key: leaving.append((organization, key)))
    first, second = new_id("r"), new_id("r")
    index.observe(a_run("daily", first, version=1, phase="Completed"))
    index.observe(a_run("daily", second, version=2))
    assert leaving == [("acme", ("main", first))]
    assert sorted(listed(index)) == sorted([first, second])
    index.drop_leaving(("main", first))
    assert listed(index) == [second]
