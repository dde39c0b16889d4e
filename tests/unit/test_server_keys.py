"""Server keys while one takes the place of another: the first one signs, all of them verify."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from checklist_api.idempotency import Idempotency, require_same_payload
from checklist_crds.errors import IdempotencyKeyReused
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.kinds import RUN
from checklist_crds.photo_keys import photo_id
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.resource_types import CREATED_AT_ANNOTATION, FINGERPRINT_ANNOTATION
from checklist_crds.sealing import ServerKeys, executor_token, is_executor_token

OLD, NEW = b"o" * 32, b"n" * 32
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
RUN_ID = "r-00000000-0000-4000-8000-000000000001"


def test_links_of_both_keys_open_while_both_are_there_and_the_first_one_makes_them() -> None:
    before, after = executor_token(ServerKeys(OLD), RUN_ID), executor_token(ServerKeys(NEW), RUN_ID)
    both = ServerKeys(NEW, OLD)
    assert executor_token(both, RUN_ID) == after
    assert executor_token(ServerKeys(OLD, NEW), RUN_ID) == before
    assert is_executor_token(both, RUN_ID, before)
    assert is_executor_token(both, RUN_ID, after)
    assert not is_executor_token(ServerKeys(NEW), RUN_ID, before)


def test_a_token_has_one_form_only() -> None:
    keys = ServerKeys(OLD)
    token = executor_token(keys, RUN_ID)
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = token[:-1] + last[last.index(token[-1]) ^ 1]  # its last two bits are no part of the bytes
    for other in (same_bytes, f"{token}=", f" {token}", token.lower(), ""):
        assert not is_executor_token(keys, RUN_ID, other)


def test_one_key_is_written_as_ever_and_more_with_commas_between() -> None:
    assert ServerKeys.parse(_b64(OLD)).all == (OLD,)
    both = ServerKeys.parse(f"{_b64(NEW)}, {_b64(OLD)}\n")
    assert (both.current, both.all) == (NEW, (NEW, OLD))
    assert repr(both) == "ServerKeys(2)"


@pytest.mark.parametrize("text", ["", ",", "c2hvcnQ=", "not base64", "{0},", "{0},{0}", "{0} {0}"])
def test_what_is_no_list_of_keys_is_refused_and_changes_nothing(text: str) -> None:
    keys = ServerKeys(NEW)
    with pytest.raises(ValueError, match=r"^must ") as refused:
        keys.renew(text.format(_b64(OLD)))
    assert _b64(OLD) not in str(refused.value)
    assert keys.all == (NEW,)


def test_addresses_of_photos_hold_as_long_as_their_key_is_there() -> None:
    keys = ServerKeys(OLD)
    urls = SignedUrls(keys, "https://checklists.example", lambda: NOW)
    photo = photo_id(RUN_ID, "one", "ab")
    query = parse_qs(urlsplit(urls.url(f"photos/{RUN_ID}/{photo}", timedelta(hours=1))).query)

    def left() -> int | None:
        return urls.seconds_left(RUN_ID, photo, query["e"][0], query["s"][0], thumbnail=False)

    assert left() == 3600
    keys.renew(f"{_b64(NEW)},{_b64(OLD)}")
    assert left() == 3600
    keys.renew(_b64(NEW))
    assert left() is None


class _Cluster:
    """The objects of one test."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}

    async def get(self, kind: object, name: str, namespace: str) -> dict[str, Any]:
        if name not in self.objects:
            raise KubeNotFound("no such object")
        return self.objects[name]


async def test_a_request_that_comes_again_after_the_key_was_replaced_meets_what_the_first_one_made() -> None:
    cluster, keys = _Cluster(), ServerKeys(OLD)
    idempotency = Idempotency(cluster, keys, lambda: NOW)  # type: ignore[arg-type]
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as claim:
        assert claim is not None
        made = {
            "metadata": {
                "name": claim.name,
                "annotations": {
                    FINGERPRINT_ANNOTATION: claim.fingerprint,
                    CREATED_AT_ANNOTATION: "2026-11-22T11:00:00Z",
                },
            },
            "spec": {},
        }
        cluster.objects[claim.name] = made
    keys.renew(f"{_b64(NEW)},{_b64(OLD)}")
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as again:
        assert again is not None
        assert again.name != claim.name
        assert await idempotency.first(RUN, again, ["n"]) is made
    with idempotency.claim("again", "org", "r", {"template_id": "another"}) as other:
        assert other is not None
        with pytest.raises(IdempotencyKeyReused):
            require_same_payload(made, other)


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()
