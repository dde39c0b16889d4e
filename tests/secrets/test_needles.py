"""The search itself: what it must find, it finds."""

import base64
import hashlib
import json
import os

from tests.secrets.needles import Needle

SECRET = "correct-horse/battery+staple ☃".encode()
KEY = bytes(range(100, 132))


def test_a_secret_is_found_in_every_form() -> None:
    needle, key = Needle("webhook secret", SECRET), Needle("sealing key", KEY)
    for hidden in (
        b"prefix " + SECRET[:15] + b" suffix",
        json.dumps({"secret": SECRET.decode()}).encode(),
        base64.b64encode(b"x" + SECRET),
        base64.urlsafe_b64encode(b'{"secret":"' + SECRET + b'"}'),
        SECRET.hex().encode(),
        hashlib.sha256(SECRET).hexdigest().encode(),
        SECRET.decode().encode("utf-16-le"),
    ):
        assert needle.found_in(os.urandom(100) + hidden + os.urandom(100)), hidden
    assert key.found_in(b"k1:" + base64.b64encode(KEY)) and key.found_in(repr(KEY).encode())
    assert needle.found_in(os.urandom(100_000) + b"correct answer, battery") == []
