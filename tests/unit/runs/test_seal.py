"""Seals of runs: what is believed, for how long, and that a valid one is computed once for each generation."""

import base64
import copy
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeForbidden
from checklist_crds.kube.seal_record import SEALS_EXPIRE_SINCE, read_records
from checklist_crds.resources.kinds import RUN, Kind
from checklist_crds.resources.run import Run
from checklist_crds.runs import seal as run_seal
from checklist_crds.runs.seal import RunSeals
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import parse_timestamp

DISPATCHED, CREATED = "2026-11-24T09:30:00.250Z", "2026-11-24T09:30:00Z"
RUN_ID = "r-00000000-0000-4000-8000-000000000001"
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
JUST_THEN = datetime(2026, 11, 25, 10, tzinfo=UTC)
RESOLVED = {
    "organization": "org-1",
    "templateId": "t-1",
    "templateName": "Küche",
    "templateVersion": 1,
    "revisionRef": {"name": "t-1-v1"},
    "identityMode": "anonymous",
    "stepCount": 1,
    "applicableSteps": 1,
}


def run(**metadata: Any) -> dict[str, Any]:
    spec = {"createdAt": DISPATCHED, "resolved": {"organization": "org-1", "templateName": "Küche"}}
    named = {"name": RUN_ID, "namespace": "n", "uid": "u-1", "generation": 1, "creationTimestamp": CREATED} | metadata
    return {"metadata": named, "spec": spec}


def is_believed(seals: RunSeals, body: dict[str, Any]) -> bool:
    seen = copy.deepcopy(body)
    seals.check(RUN, seen)
    return seen["spec"].get("resolved", {}).get("bound") is True


def test_a_seal_is_valid_for_one_run_one_spec_and_as_long_as_its_key() -> None:
    keys = ServerKeys(KEY)
    seals = RunSeals(keys)
    sealed = seals.sealed(run())
    assert is_believed(seals, sealed)
    assert is_believed(seals, sealed), "computed before"
    for other in (run(name="r-2", uid="u-2"), run(namespace="m", uid="u-3"), run(generation=2)):
        other["metadata"]["annotations"] = sealed["metadata"]["annotations"]
        if other["metadata"]["generation"] == 2:
            other["spec"]["resolved"]["organization"] = "org-2"
        assert not is_believed(seals, other), other["metadata"]
    assert not is_believed(seals, run()), "without a seal"
    keys.renew(_text(OTHER) + "," + _text(KEY))
    assert is_believed(seals, sealed)
    keys.renew(_text(OTHER))
    assert not is_believed(seals, sealed), "its key is no longer one of ours"


def test_a_seal_is_computed_once_and_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_seal, "_REMEMBERED", 2)
    seals = RunSeals(ServerKeys(KEY))
    seals.since = datetime(2026, 1, 1, tzinfo=UTC)
    computed: list[str] = []
    original = seals.is_sealed

    def counting(body: Any) -> bool:
        computed.append(body["metadata"]["uid"])
        return original(body)

    monkeypatch.setattr(seals, "is_sealed", counting)
    bodies = [seals.sealed(run(uid=f"u-{number}")) for number in range(3)]
    for body in (*bodies, *bodies[1:], bodies[0]):
        assert is_believed(seals, body)
    assert computed == ["u-0", "u-1", "u-2", "u-0"]


@pytest.mark.parametrize(
    ("created", "believed"),
    [
        ("2026-11-24T09:20:00Z", True),  # the API's clock is ahead
        ("2026-11-24T09:35:00Z", True),
        ("2026-11-24T09:35:01Z", False),
        ("2026-12-24T09:30:00Z", False),
        (None, False),
    ],
)
def test_seals_need_a_matching_creation_time(created: str | None, believed: bool) -> None:
    seals = RunSeals(ServerKeys(KEY))
    body = seals.sealed(run(creationTimestamp=created))
    assert is_believed(seals, body) is believed
    assert is_believed(seals, body) is believed, "computed before"
    assert is_believed(seals, seals.sealed(run(creationTimestamp=CREATED))), "the first of that name"


def test_what_is_restored_counts_by_its_status_or_is_older_than_the_record_of_expiring_seals() -> None:
    seals = RunSeals(ServerKeys(KEY))
    late = seals.sealed(run(creationTimestamp="2026-11-25T10:00:00Z"))
    late["metadata"]["resourceVersion"] = "1"
    restored = {**late, "status": {"resolved": RESOLVED | {"bound": True}}}
    seen = copy.deepcopy(restored)
    seals.check(RUN, seen)
    admitted = Run.parse(seen).resolved
    assert "resolved" not in seen["spec"]
    assert admitted is not None
    assert admitted.bound is True
    for record, believed in ((datetime(2026, 11, 25, 10, 0, 1, tzinfo=UTC), True), (JUST_THEN, False)):
        seals = RunSeals(ServerKeys(KEY))
        assert not is_believed(seals, late), "the record is not read yet"
        seals.expire_since = record
        seen = copy.deepcopy(late)
        seals.check(RUN, seen)
        assert ("resolved" in seen["spec"]) is believed
        assert not believed or not seals.is_current(seen), "its admission is to be kept in its status"
    fresh = seals.sealed(run())
    seals.check(RUN, fresh)
    assert seals.is_current(fresh)


async def test_roles_of_an_earlier_version_stop_nothing_and_let_all_seals_expire() -> None:
    class Client:
        async def get(self, _: Kind, name: str, namespace: str) -> dict[str, Any]:
            if name == SEALS_EXPIRE_SINCE:
                raise KubeForbidden("configmaps is forbidden", status=403)
            return {"metadata": {"name": name, "namespace": namespace, "creationTimestamp": CREATED}}

    seals = RunSeals(ServerKeys(KEY))
    await read_records(cast("KubeClient", Client()), "n", seals)
    assert (seals.since, seals.expire_since) == (parse_timestamp(CREATED), None)
    assert is_believed(seals, seals.sealed(run()))
    assert not is_believed(seals, seals.sealed(run(uid="u-2", creationTimestamp="2026-11-25T10:00:00Z")))


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
