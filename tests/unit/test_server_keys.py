"""Server keys while one takes the place of another: the first one signs, all of them verify."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from checklist_api.idempotency import Idempotency, require_same_payload
from checklist_api.organizations import Organization
from checklist_crds.errors import IdempotencyKeyReused
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import RUN
from checklist_crds.resource_types import CREATED_AT_ANNOTATION, FINGERPRINT_ANNOTATION
from checklist_crds.sealing import ServerKeys, executor_token, is_executor_token

OLD, NEW = b"o" * 32, b"n" * 32
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ORGANIZATION = Organization("org", "org-1", "Org", ("n",), None)
RUN_ID = "r-00000000-0000-4000-8000-000000000001"


def test_links_of_both_keys_open_while_both_are_there_and_the_first_one_makes_them() -> None:
    before, after = executor_token(ServerKeys(OLD), RUN_ID), executor_token(ServerKeys(NEW), RUN_ID)
    both = ServerKeys(NEW, OLD)
    assert executor_token(both, RUN_ID) == after
    assert executor_token(ServerKeys(OLD, NEW), RUN_ID) == before
    assert is_executor_token(both, RUN_ID, before)
    assert is_executor_token(both, RUN_ID, after)
    assert not is_executor_token(ServerKeys(NEW), RUN_ID, before)
    # A token has one form only. The last two bits of its last character are no part of the bytes.
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = after[:-1] + letters[letters.index(after[-1]) ^ 1]
    for other in (same_bytes, f"{after}=", f" {after}", after.lower(), ""):
        assert not is_executor_token(both, RUN_ID, other)


def test_keys_are_written_with_commas_between_and_a_wrong_list_changes_nothing() -> None:
    assert ServerKeys.parse(_b64(OLD)).all == (OLD,)
    both = ServerKeys.parse(f"{_b64(NEW)}, {_b64(OLD)}\n")
    assert (both.current, both.all) == (NEW, (NEW, OLD))
    assert repr(both) == "ServerKeys(2)"
    for text in ("", ",", "c2hvcnQ=", "not base64", "{0},", "{0},{0}", "{0} {0}"):
        with pytest.raises(ValueError, match=r"^must ") as refused:
            both.renew(text.format(_b64(OLD)))
        assert _b64(OLD) not in str(refused.value)
        assert both.all == (NEW, OLD)


class _Cluster(dict[str, dict[str, Any]]):
    """Objects by their names."""

    async def get(self, kind: object, name: str, namespace: str) -> dict[str, Any]:  # type: ignore[override]
        if name not in self:
            raise KubeNotFound("no such object")
        return self[name]


async def test_a_request_that_comes_again_after_the_key_was_replaced_meets_what_the_first_one_made() -> None:
    cluster, keys = _Cluster(), ServerKeys(OLD)
    idempotency = Idempotency(cluster, keys, lambda: NOW)  # type: ignore[arg-type]
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as claim:
        assert claim is not None
        notes = {FINGERPRINT_ANNOTATION: claim.fingerprint, CREATED_AT_ANNOTATION: "2026-11-22T11:00:00Z"}
        made = cluster[claim.name] = {"metadata": {"name": claim.name, "annotations": notes}, "spec": {}}
    keys.renew(f"{_b64(NEW)},{_b64(OLD)}")
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as again:
        assert again is not None
        assert again.name != claim.name
        assert await idempotency.first(RUN, again, ORGANIZATION) is made
    with idempotency.claim("again", "org", "r", {"template_id": "another"}) as other:
        assert other is not None
        with pytest.raises(IdempotencyKeyReused):
            require_same_payload(made, other)


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()
