"""Signed addresses of photos, and the keys behind them."""

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from checklist_crds.photo_keys import parts_of, photo_id, photo_key, thumbnail_key
from checklist_crds.photo_urls import IN_ANSWERS, SignedUrls
from checklist_crds.run_types import PhotoRef
from checklist_crds.sealing import ServerKeys

RUN = "r-00000000-0000-4000-8000-000000000001"
PHOTO = photo_id(RUN, "one", "ab")
KEY = photo_key(RUN, PHOTO)
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

    def left(self, expires: str, signature: str, *, photo: str = PHOTO, thumbnail: bool = False) -> int | None:
        return self.urls.seconds_left(RUN, photo, expires, signature, thumbnail=thumbnail)


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
    assert urlsplit(whole).path == f"/v1/photos/{RUN}/{PHOTO}"
    assert urlsplit(small).path == f"/v1/photos/{RUN}/{PHOTO}/thumbnail"
    ref = PhotoRef(key=KEY, content_type="image/png", bytes=1, sha256="", width=1, height=1)
    assert (urls.for_(IN_ANSWERS)(ref), urls.for_(IN_ANSWERS)(ref, thumbnail=True)) == (whole, small)


def test_a_signature_is_of_no_use_for_anything_else() -> None:
    signer = Signer()
    expires, signature = signer.made()
    assert signer.left(expires, signature, photo=photo_id(RUN, "two", "ab")) is None
    assert signer.left(expires, signature, thumbnail=True) is None
    assert signer.left(str(int(expires) + 1), signature) is None
    assert Signer(KEYS[1]).left(expires, signature) is None
    assert signer.left(*signer.made(thumbnail=True)) is None
    for text in ("", "é", "x" * 43, "\0", signature[:-1], f"{signature}="):
        assert signer.left(expires, text) is signer.left(text, signature) is None


def test_keys_name_their_run_and_upload_and_other_texts_are_no_keys() -> None:
    assert photo_id(RUN, "one", "ab") == PHOTO
    others = {photo_id(RUN, "two", "ab"), photo_id(RUN, "one", "cd"), photo_id(RUN[:-1] + "2", "one", "ab")}
    assert len({PHOTO, photo_id(RUN, None, "ab"), photo_id(RUN, None, "ab"), *others}) == 6
    assert parts_of(KEY) == parts_of(thumbnail_key(KEY)) == (RUN, PHOTO)
    for text in ("", "photos", f"photos/{RUN}", f"photos/{RUN}/x", f"other/{RUN}/{PHOTO}", KEY + "/x"):
        assert parts_of(text) is None
        with pytest.raises(ValueError, match="no key"):
            Signer().urls.url(text, IN_ANSWERS)
