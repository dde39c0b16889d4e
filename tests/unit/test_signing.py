import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, MappingKeyResolver, algorithms
from http_message_signatures.digests import ContentDigest
from http_sfv import Dictionary
from hypothesis import given
from hypothesis import strategies as st

from checklist_operator.delivery import signing

URL = "https://hooks.example.com/in?run=1"
BODY = json.dumps({"event_id": "evt-1", "delivery_attempt": 1}).encode()
SECRET = "a secret of sixteen"
CREATED = datetime(2026, 11, 21, 13, 50, 0, 987_000, tzinfo=UTC)
NOW = CREATED.timestamp()
NONCE = "bm9uY2Vub25jZW5vbmNlMQ"
Verify = Callable[..., None]


def signed(*, secret: str = SECRET, expires_s: int = 300) -> dict[str, str]:
    return signing.sign(
        URL, BODY, secret=secret.encode(), key_id="r-1", created=CREATED, nonce=NONCE, expires_s=expires_s
    )


def test_the_rfc_9421_example_for_a_shared_secret_is_reproduced_exactly() -> None:
    """Appendix B.2.5, by the calls of the library that `sign` makes."""
    secret = base64.b64decode(
        "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=="
    )
    message = SimpleNamespace(
        method="POST",
        url="https://example.com/foo?param=Value&Pet=dog",
        headers={
            "Host": "example.com",
            "Date": "Tue, 20 Apr 2021 02:07:55 GMT",
            "Content-Type": "application/json",
        },
    )
    prepared = HTTPMessageSigner(signature_algorithm=algorithms.HMAC_SHA256).prepare(
        message,
        key_id="test-shared-secret",
        created=datetime.fromtimestamp(1618884473, UTC),
        label="sig-b25",
        include_alg=False,
        covered_component_ids=("date", "@authority", "content-type"),
    )
    assert prepared.signature_params == (
        '("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"'
    )
    signature = algorithms.HMAC_SHA256(shared_secret=secret).sign(prepared.signature_base)
    assert base64.b64encode(signature) == b"pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="


def test_the_headers_are_the_profile_byte_for_byte() -> None:
    assert signed() == {
        "Content-Type": "application/json",
        "Content-Digest": "sha-256=:IBnDpQVvy34U+SwBFS2Dc4oFWVZOnDz0n/WCn8J80IM=:",
        "Signature-Input": (
            'sig1=("@method" "@target-uri" "@authority" "content-type" "content-digest");created=1795269000;'
            'keyid="r-1";alg="hmac-sha256";expires=1795269300;nonce="bm9uY2Vub25jZW5vbmNlMQ";tag="checklist-dispatch/v1"'
        ),
        "Signature": "sig1=:97SSOoCY1DC1TGMKnicLfVNEqzUpTffZRxbuHC/Ucz8=:",
    }


def test_without_expiry_the_age_alone_is_the_limit(verify: Verify) -> None:
    headers = signed(expires_s=0)
    assert "expires" not in headers["Signature-Input"]
    assert ';alg="hmac-sha256";nonce=' in headers["Signature-Input"]
    verify("POST", URL, headers, BODY, SECRET, now=NOW + 299)
    with pytest.raises(ValueError, match="too old"):
        verify("POST", URL, headers, BODY, SECRET, now=NOW + 310)
    verify("POST", URL, headers, BODY, SECRET, now=NOW + 310, max_age=600)


def test_an_empty_secret_signs_nothing() -> None:
    with pytest.raises(ValueError, match="empty secret"):
        signed(secret="")


def test_a_secret_is_used_as_its_utf8_bytes(verify: Verify) -> None:
    headers = signed(secret="Geheimnis-für-ß-☃")
    verify("POST", URL, headers, BODY, "Geheimnis-für-ß-☃", now=NOW)


@pytest.mark.parametrize("bad", ["r-1\n", "r-☃"])
def test_what_no_header_can_carry_is_refused(bad: str) -> None:
    with pytest.raises(Exception, match=r".+"):
        signing.sign(URL, BODY, secret=b"s", key_id=bad, created=CREATED, nonce="n")


def test_the_fields_are_structured_fields_for_an_independent_parser() -> None:
    headers = signed()
    inputs, signatures, digest = Dictionary(), Dictionary(), Dictionary()
    inputs.parse(headers["Signature-Input"].encode())
    signatures.parse(headers["Signature"].encode())
    digest.parse(headers["Content-Digest"].encode())
    assert list(inputs) == list(signatures) == ["sig1"]
    assert [item.value for item in inputs["sig1"]] == list(signing.COMPONENTS)
    assert list(inputs["sig1"].params) == ["created", "keyid", "alg", "expires", "nonce", "tag"]
    assert len(signatures["sig1"].value) == len(digest["sha-256"].value) == 32


@given(body=st.binary(max_size=2000), path=st.from_regex(r"/[a-z0-9/%20.~_-]{0,40}", fullmatch=True))
def test_the_library_and_the_standard_library_verifier_accept_what_we_sign(
    verify: Verify, body: bytes, path: str
) -> None:
    url = "https://hooks.example.com" + re.sub("%(?!20)", "", path)
    now = datetime.now(UTC)  # the library's verifier knows no other clock
    headers = signing.sign(url, body, secret=SECRET.encode(), key_id="r-1", created=now, nonce=NONCE)
    verify("POST", url, headers, body, SECRET, now=now.timestamp())
    verifier = HTTPMessageVerifier(
        signature_algorithm=algorithms.HMAC_SHA256,
        key_resolver=MappingKeyResolver(public_keys={"r-1": SECRET.encode()}, private_keys={}),
    )
    message = SimpleNamespace(method="POST", url=url, headers=headers)
    verified = verifier.verify(message, max_age=timedelta(minutes=5), expect_tag=signing.TAG)
    assert [result.parameters["nonce"] for result in verified] == [NONCE]
    ContentDigest.verify(headers["Content-Digest"], body)


def flipped_requests() -> list[tuple[str, dict[str, object]]]:
    headers = signed()
    cases: list[tuple[str, dict[str, object]]] = [
        ("method", {"method": "PUT"}),
        ("path", {"url": URL.replace("/in", "/on")}),
        ("query", {"url": URL.replace("run=1", "run=2")}),
        ("host", {"url": URL.replace("hooks", "books")}),
        ("port", {"url": URL.replace(".com", ".com:8443")}),
        ("scheme", {"url": URL.replace("https", "http")}),
        ("secret", {"secret": SECRET + "x"}),
        ("body", {"body": BODY.replace(b"1", b"2", 1)}),
        ("empty body", {"body": b""}),
        ("no headers", {"headers": {}}),
    ]
    for name in headers:
        cases.append((f"no {name}", {"headers": {key: value for key, value in headers.items() if key != name}}))
        cases.append((f"{name} twice", {"headers": _Twice(headers, name)}))
    for name, old, new in [
        ("Content-Type", "json", "jsom"),
        ("Content-Digest", "sha-256", "sha-512"),
        ("Signature-Input", "created=1795269000", "created=1795269001"),
        ("Signature-Input", 'keyid="r-1"', 'keyid="r-2"'),
        ("Signature-Input", "expires=1795269300", "expires=1795269301"),
        ("Signature-Input", 'nonce="b', 'nonce="c'),
        ("Signature-Input", "/v1", "/v2"),
        ("Signature-Input", "hmac-sha256", "hmac-sha512"),
        ("Signature-Input", '"@method" ', ""),
        ("Signature-Input", ' "content-digest"', ""),
        ("Signature-Input", "sig1", "sig2"),
        ("Signature-Input", "sig1=", "sig0=();created=1, sig1="),
        ("Signature", "sig1=:9", "sig1=:8"),
        ("Signature", "sig1", "sig2"),
    ]:
        changed = headers | {name: headers[name].replace(old, new)}
        assert changed != headers, (name, old)
        cases.append((f"{name}: {old} -> {new}", {"headers": changed}))
    return cases


class _Twice(dict[str, str]):
    """Headers in which one field came twice, the forged one first."""

    def __init__(self, headers: dict[str, str], name: str) -> None:
        super().__init__(headers)
        self._extra = (name.lower(), "forged")

    def items(self):  # type: ignore[no-untyped-def,override]
        return [self._extra, *super().items()]


@pytest.mark.parametrize(
    "change", [case[1] for case in flipped_requests()], ids=[case[0] for case in flipped_requests()]
)
def test_the_verifier_of_the_guide_refuses_every_change(verify: Verify, change: dict[str, object]) -> None:
    request: dict[str, object] = {"method": "POST", "url": URL, "headers": signed(), "body": BODY, "secret": SECRET}
    verify(*request.values(), now=NOW)
    with pytest.raises(ValueError, match=r"^(content-digest|signature-input|created, expires|signature): "):
        verify(*(request | change).values(), now=NOW)


@pytest.mark.parametrize(("age", "fine"), [(0, True), (-5, True), (-7, False), (300, True), (304, True), (306, False)])
def test_the_verifier_of_the_guide_accepts_five_minutes_and_five_seconds_of_skew(
    verify: Verify, age: int, fine: bool
) -> None:
    now = int(NOW) + age
    if fine:
        verify("POST", URL, signed(), BODY, SECRET, now=now)
    else:
        with pytest.raises(ValueError, match="too old"):
            verify("POST", URL, signed(), BODY, SECRET, now=now)
