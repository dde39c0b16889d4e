"""Server keys while one takes the place of another, and the addresses of photos that they sign."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from checklist_api.idempotency import Idempotency, require_same_payload
from checklist_api.organizations.directory import Organization
from checklist_crds.errors import IdempotencyInProgress, IdempotencyKeyReused
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.photos.keys import PhotoFolder, parts_of, photo_id, photo_key, thumbnail_key
from checklist_crds.photos.urls import IN_ANSWERS, SignedUrls
from checklist_crds.resources.base import CREATED_AT_ANNOTATION, FINGERPRINT_ANNOTATION
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import PhotoRef
from checklist_crds.secrets.sealing import ServerKeys, executor_token, is_executor_token

OLD, NEW = b"o" * 32, b"n" * 32
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ACME = Organization("org", "org-1", "Org", ("n",), None)
RUN_ID = "r-00000000-0000-4000-8000-000000000001"


def test_links_of_both_keys_open_while_both_are_there_and_the_first_one_makes_them() -> None:
    before, after = executor_token(ServerKeys(OLD), "org-1", RUN_ID), executor_token(ServerKeys(NEW), "org-1", RUN_ID)
    both = ServerKeys(NEW, OLD)
    assert executor_token(both, "org-1", RUN_ID) == after
    assert executor_token(ServerKeys(OLD, NEW), "org-1", RUN_ID) == before
    assert is_executor_token(both, "org-1", RUN_ID, before)
    assert is_executor_token(both, "org-1", RUN_ID, after)
    assert not is_executor_token(ServerKeys(NEW), "org-1", RUN_ID, before)
    # A token has one form only. The last two bits of its last character are no part of the bytes.
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = after[:-1] + letters[letters.index(after[-1]) ^ 1]
    for other in (same_bytes, f"{after}=", f" {after}", after.lower(), ""):
        assert not is_executor_token(both, "org-1", RUN_ID, other)


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
    idempotency = Idempotency(cluster, keys, None, lambda: NOW)  # type: ignore[arg-type]
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as claim:
        assert claim is not None
        notes = {FINGERPRINT_ANNOTATION: claim.fingerprint, CREATED_AT_ANNOTATION: "2026-11-22T11:00:00Z"}
        made = cluster[claim.name] = {"metadata": {"name": claim.name, "annotations": notes}, "spec": {}}
    keys.renew(f"{_b64(NEW)},{_b64(OLD)}")
    with idempotency.claim("again", "org", "r", {"template_id": "t"}) as again:
        assert again is not None
        assert again.name != claim.name
        assert await idempotency.first(RUN, again, ACME) is made
    with idempotency.claim("again", "org", "r", {"template_id": "another"}) as other:
        assert other is not None
        with pytest.raises(IdempotencyKeyReused):
            require_same_payload(made, other)


def test_a_request_is_in_progress_on_the_next_day_and_under_the_next_key_too() -> None:
    keys, now = ServerKeys(OLD), [datetime(2026, 11, 22, 23, 59, 59, tzinfo=UTC)]
    idempotency = Idempotency(_Cluster(), keys, None, lambda: now[0])  # type: ignore[arg-type]
    with idempotency.claim("again", "org", "r", {}):
        now[0] = datetime(2026, 11, 23, tzinfo=UTC)
        for renewed in (_b64(OLD), f"{_b64(NEW)},{_b64(OLD)}"):
            keys.renew(renewed)
            with pytest.raises(IdempotencyInProgress), idempotency.claim("again", "org", "r", {}):
                pass
            with idempotency.claim("another", "org", "r", {}):
                pass
    with idempotency.claim("again", "org", "r", {}):
        pass


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


PHOTO = photo_id(RUN_ID, "one", "ab")
ORGANIZATION = "org-00000000-0000-4000-8000-00000000000a"
FOLDER, BEFORE = PhotoFolder(ORGANIZATION, RUN_ID), PhotoFolder("", RUN_ID)
KEY = photo_key(ORGANIZATION, RUN_ID, PHOTO)
KEYS = (b"k" * 32, b"x" * 32)
START = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Signer:
    """Addresses at a time that the test sets."""

    def __init__(self, key: bytes = KEYS[0]) -> None:
        self.now = START
        self.keys = ServerKeys(key)
        self.urls = SignedUrls(self.keys, "https://checklists.example", lambda: self.now)

    def made(self, *, thumbnail: bool = False) -> tuple[str, str]:
        """(expiry, signature)"""
        query = parse_qs(urlsplit(self.urls.url(KEY, IN_ANSWERS, thumbnail=thumbnail)).query)
        return query["e"][0], query["s"][0]

    def left(
        self, expires: str, signature: str, *, folder: PhotoFolder = FOLDER, photo: str = PHOTO, thumbnail: bool = False
    ) -> int | None:
        return self.urls.seconds_left(folder, photo, expires, signature, thumbnail=thumbnail)


def test_an_address_holds_until_it_expires_or_its_key_is_gone() -> None:
    signer = Signer()
    made = signer.made()
    for seconds, left in ((0, 3600), (3599, 1), (3600, None)):
        signer.now = START + timedelta(seconds=seconds)
        assert signer.left(*made) == left
    signer.now = START
    old, new = (base64.b64encode(key).decode() for key in KEYS)
    for keys, left in ((f"{new},{old}", 3600), (new, None)):
        signer.keys.renew(keys)
        assert signer.left(*made) == left


def test_an_address_names_run_photo_and_kind() -> None:
    urls = Signer().urls
    whole, small = urls.url(KEY, IN_ANSWERS), urls.url(KEY, IN_ANSWERS, thumbnail=True)
    assert urlsplit(whole).path == f"/v1/photos/{RUN_ID}/{PHOTO}"
    assert urlsplit(small).path == f"/v1/photos/{RUN_ID}/{PHOTO}/thumbnail"
    ref = PhotoRef(key=KEY, content_type="image/png", bytes=1, sha256="", width=1, height=1)
    assert (urls.for_(IN_ANSWERS)(ref), urls.for_(IN_ANSWERS)(ref, thumbnail=True)) == (whole, small)


def test_a_signature_is_of_no_use_for_anything_else() -> None:
    signer = Signer()
    expires, signature = signer.made()
    assert signer.left(expires, signature, photo=photo_id(RUN_ID, "two", "ab")) is None
    for folder in (BEFORE, PhotoFolder(ORGANIZATION[:-1] + "b", RUN_ID), PhotoFolder("../x", RUN_ID)):
        assert signer.left(expires, signature, folder=folder) is None
    assert signer.left(expires, signature, thumbnail=True) is None
    assert signer.left(str(int(expires) + 1), signature) is None
    assert Signer(KEYS[1]).left(expires, signature) is None
    assert signer.left(*signer.made(thumbnail=True)) is None
    for text in ("", "é", "x" * 43, "\0", signature[:-1], f"{signature}="):
        assert signer.left(expires, text) is signer.left(text, signature) is None


def test_keys_name_their_run_and_upload_and_other_texts_are_no_keys() -> None:
    assert photo_id(RUN_ID, "one", "ab") == PHOTO
    others = {photo_id(RUN_ID, "two", "ab"), photo_id(RUN_ID, "one", "cd"), photo_id(RUN_ID[:-1] + "2", "one", "ab")}
    assert len({PHOTO, photo_id(RUN_ID, None, "ab"), photo_id(RUN_ID, None, "ab"), *others}) == 6
    assert parts_of(KEY) == parts_of(thumbnail_key(KEY)) == (FOLDER, PHOTO)
    assert parts_of(BEFORE.key(PHOTO)) == (BEFORE, PHOTO)
    assert urlsplit(Signer().urls.url(BEFORE.key(PHOTO), IN_ANSWERS)).query.startswith("e=")
    for text in (
        "",
        "photos",
        f"photos/{RUN_ID}",
        f"photos/{RUN_ID}/x",
        f"other/{RUN_ID}/{PHOTO}",
        KEY + "/x",
        "photos/x",
    ):
        assert parts_of(text) is None
        with pytest.raises(ValueError, match="no key"):
            Signer().urls.url(text, IN_ANSWERS)
