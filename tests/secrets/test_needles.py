"""The search itself: what it must find, it finds."""

import base64
import hashlib
import json
import os

import pytest
from tests.secrets.needles import Needle

SECRET = "correct-horse/battery+staple ☃"
NEEDLE = Needle.text("webhook secret", SECRET)


@pytest.mark.parametrize(
    "hidden",
    [
        SECRET.encode(),
        b"prefix " + SECRET.encode()[:15] + b" suffix",
        json.dumps({"secret": SECRET}).encode(),
        base64.b64encode(SECRET.encode()),
        base64.b64encode(b"x" + SECRET.encode()),
        base64.urlsafe_b64encode(b'{"secret":"' + SECRET.encode() + b'"}'),
        SECRET.encode().hex().encode(),
        hashlib.sha256(SECRET.encode()).hexdigest().encode(),
        SECRET.encode("utf-16-le"),
    ],
)
def test_a_secret_is_found_in_every_form(hidden: bytes) -> None:
    assert NEEDLE.found_in(os.urandom(100) + hidden + os.urandom(100))


def test_what_is_not_there_is_not_found() -> None:
    assert NEEDLE.found_in(os.urandom(100_000) + b"correct answer, battery") == []


def test_a_binary_key_is_found() -> None:
    key = os.urandom(32)
    needle = Needle("sealing key", key)
    assert needle.found_in(b"k1:" + base64.b64encode(key))
    assert needle.found_in(b"in the middle of " + key + b" a dump")
    assert needle.found_in(repr(key).encode())
