"""Seals of runs: what is believed, for how long, and that a valid one is computed once for each generation."""

import base64
import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_crds import run_seal
from checklist_crds.kube.kinds import RUN
from checklist_crds.run_seal import RunSeals
from checklist_crds.sealing import ServerKeys

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


def run(**metadata: Any) -> dict[str, Any]:
    spec = {"createdAt": "2026-11-24T09:30:00Z", "resolved": {"organization": "org-1", "templateName": "Küche"}}
    named = {"name": "r-1", "namespace": "n", "uid": "u-1", "generation": 1, **metadata}
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


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
