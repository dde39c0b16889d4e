"""Requests that a receiver must refuse, each with the failing check: forged, or signed with a wrong setup."""

import json
from collections.abc import Iterator
from typing import Final

from checklist_dev.generate.webhook_vectors.requests import (
    CREATED,
    RUN,
    URL_CONFIGURED,
    Request,
    content_digest,
    envelope,
)

DIGEST: Final = "content-digest"
INPUT: Final = "signature-input"
TIME: Final = "time"
SIGNATURE: Final = "signature"
CHECKS: Final = (DIGEST, INPUT, TIME, SIGNATURE)

FIELDS: Final = ("Content-Type", "Content-Digest", "Signature-Input", "Signature")
Refused = tuple[str, str, Request]
_FIRST_CHECK: Final = {
    "Content-Type": SIGNATURE,
    "Content-Digest": DIGEST,
    "Signature-Input": INPUT,
    "Signature": SIGNATURE,
}


def refused() -> Iterator[Refused]:
    """(name, check, request)."""
    sound = Request.signed()
    yield from _another_request(sound)
    yield from _another_body(sound)
    yield from _fields_lost_and_doubled(sound)
    yield from _parameters_changed(sound)
    yield from _outside_of_the_profile(sound)
    yield from _another_signature(sound)
    yield from _too_old_or_too_new()


def _another_request(sound: Request) -> Iterator[Refused]:
    yield "method: another one", SIGNATURE, sound.but(method="PUT")
    urls = {
        "path: another one": URL_CONFIGURED.replace("/in", "/on"),
        "path: a final slash": URL_CONFIGURED.replace("%27s", "%27s/"),
        "path: an escape written out": URL_CONFIGURED.replace("%27", "'"),
        "query: another one": URL_CONFIGURED.replace("run=1", "run=2"),
        "query: none": URL_CONFIGURED.partition("?")[0],
        "host: another one": URL_CONFIGURED.replace("hooks", "books"),
        "port: another one": URL_CONFIGURED.replace(".com", ".com:8443"),
        "scheme: http": URL_CONFIGURED.replace("https", "http"),
    }
    for name, url in urls.items():
        host = url.split("/")[2]
        yield name, SIGNATURE, sound.but(url=url).with_header("Host", host)
    yield "content-type: another one", SIGNATURE, sound.with_header("Content-Type", "application/jsom")
    yield (
        "content-type: with a charset",
        SIGNATURE,
        sound.with_header("Content-Type", "application/json; charset=utf-8"),
    )


def _another_body(sound: Request) -> Iterator[Refused]:
    other = envelope(template_v=4)
    yield "body: one character changed", DIGEST, sound.with_body(other)
    yield "body: none", DIGEST, sound.with_body("")
    yield "body: a line end added", DIGEST, sound.with_body(sound.body + "\n")
    yield "body: parsed and written again", DIGEST, sound.with_body(json.dumps(json.loads(sound.body)))
    forged = sound.with_body(other).with_header("Content-Digest", content_digest(other))
    yield "body: changed, with the digest that it has now", SIGNATURE, forged
    strong = sound.with_header("Content-Digest", content_digest(sound.body, "sha512"))
    yield "content-digest: sha-512 of the right body", DIGEST, strong
    both = sound.with_header("Content-Digest", f"{sound.header('Content-Digest')}, {content_digest(other, 'sha512')}")
    yield "content-digest: a second algorithm added", DIGEST, both
    yield "content-digest: another label", DIGEST, sound.edited("Content-Digest", "sha-256", "sha-257")


def _fields_lost_and_doubled(sound: Request) -> Iterator[Refused]:
    for name in FIELDS:
        lower, check = name.lower(), _FIRST_CHECK[name]
        yield f"{lower}: missing", check, sound.without(name)
        yield f"{lower}: empty", check, sound.with_header(name, "")
        yield f"{lower}: twice, a forged one first", check, sound.also(name, "forged", first=True)
        yield f"{lower}: twice, a forged one last", check, sound.also(name, "forged", first=False)
        yield f"{lower}: twice, an empty one last", check, sound.also(name, "", first=False)
        yield f"{lower}: the same twice", check, sound.also(name, sound.header(name), first=False)


def _parameters_changed(sound: Request) -> Iterator[Refused]:
    edits = {
        "created: a second later": (f"created={CREATED}", f"created={CREATED + 1}", SIGNATURE),
        "created: none": (f";created={CREATED}", "", INPUT),
        "created: a text": (f"created={CREATED}", f'created="{CREATED}"', INPUT),
        "created: with decimals": (f"created={CREATED}", f"created={CREATED}.0", INPUT),
        "keyid: another run": ('keyid="r-0', 'keyid="r-1', SIGNATURE),
        "keyid: none": (f';keyid="{RUN}"', "", INPUT),
        "alg: another one": ("hmac-sha256", "hmac-sha512", INPUT),
        "alg: none": (';alg="hmac-sha256"', "", INPUT),
        "expires: a second later": (f"expires={CREATED + 300}", f"expires={CREATED + 301}", SIGNATURE),
        "expires: taken away": (f";expires={CREATED + 300}", "", SIGNATURE),
        "nonce: another one": ('nonce="b', 'nonce="c', SIGNATURE),
        "nonce: none": (';nonce="bm9uY2Vub25jZW5vbmNlMQ"', "", INPUT),
        "tag: another one": ("/v1", "/v2", INPUT),
        "tag: none": (';tag="checklist-dispatch/v1"', "", INPUT),
        "parameters: one added": ("/v1", '/v1";extra="1', INPUT),
        "parameters: a space between them": (";keyid", "; keyid", INPUT),
        "components: one missing": (' "content-digest"', "", INPUT),
        "components: @target-uri missing": (' "@target-uri"', "", INPUT),
        "components: in another order": ('"@method" "@target-uri"', '"@target-uri" "@method"', INPUT),
        "components: one added": ('"content-digest"', '"content-digest" "content-length"', INPUT),
        "components: one twice": ('"@method"', '"@method" "@method"', INPUT),
        "components: one with a parameter": ('"content-type"', '"content-type";sf', INPUT),
        "label: another one in signature-input": ("sig1", "sig2", INPUT),
    }
    for name, (old, new, check) in edits.items():
        yield name, check, sound.edited("Signature-Input", old, new)


def _outside_of_the_profile(sound: Request) -> Iterator[Refused]:
    """Signed with the right secret, but never sent by the service: for another purpose, or weaker."""
    edits = {
        "tag: of another protocol": ("checklist-dispatch/v1", "other/v1"),
        "tag: of no protocol": (';tag="checklist-dispatch/v1"', ""),
        "components: no digest": (' "content-digest"', ""),
        "components: no URL": (' "@target-uri" "@authority"', ""),
        "components: none": (sound.header("Signature-Input").partition(")")[0].partition("(")[2], ""),
        "label: another one": ("sig1", "sig2"),
        "alg: hmac-sha1": ("hmac-sha256", "hmac-sha1"),
        "alg: not said": (';alg="hmac-sha256"', ""),
        "nonce: empty": ("bm9uY2Vub25jZW5vbmNlMQ", ""),
        "created: not said": (f";created={CREATED}", ""),
    }
    for name, (old, new) in edits.items():
        yield f"{name} (signed so)", INPUT, sound.edited("Signature-Input", old, new).resigned()
    unknown = sound.in_order("nonce", "expires", "alg", "keyid", "tag")
    yield "parameters: in an order of no version (signed so)", INPUT, unknown
    mine, forged = sound.header("Signature-Input"), "sig0=();created=1"
    double = sound.with_header("Signature-Input", f"{forged}, {mine}")
    yield "two signatures: a forged one first", INPUT, double.edited("Signature", "sig1", "sig0=:AAAA:, sig1")
    double = sound.with_header("Signature-Input", f"{mine}, {forged}")
    yield (
        "two signatures: a forged one last",
        INPUT,
        double.with_header("Signature", f"{sound.header('Signature')}, sig0=:AAAA:"),
    )


def _another_signature(sound: Request) -> Iterator[Refused]:
    yield "secret: another one", SIGNATURE, sound.but(secret=sound.secret[::-1])
    yield "secret: with a line end, as read from a file", SIGNATURE, sound.but(secret=sound.secret + "\n")
    yield "signature: with an empty secret", SIGNATURE, sound.resigned(secret="")
    yield "signature: by HMAC-SHA512", SIGNATURE, sound.resigned(algorithm="sha512")
    value = sound.header("Signature")
    yield "signature: cut short", SIGNATURE, sound.with_header("Signature", value[:-6] + ":")
    yield "signature: without a byte", SIGNATURE, sound.with_header("Signature", "sig1=::")
    yield "signature: as text", SIGNATURE, sound.with_header("Signature", value.replace(":", '"'))
    yield "signature: one bit flipped", SIGNATURE, sound.with_header("Signature", _next_letter(value, 6))
    # The last of 43 characters has two unused bits, which are zero. Another spelling must be refused.
    yield (
        "signature: the same bytes spelled otherwise",
        SIGNATURE,
        sound.with_header("Signature", _next_letter(value, value.index("=:", 7) - 1)),
    )
    yield "signature: another label", SIGNATURE, sound.edited("Signature", "sig1", "sig2")


def _too_old_or_too_new() -> Iterator[Refused]:
    yield "time: 306 s after it was created", TIME, Request.signed(after_s=306)
    yield "time: a day after it was created", TIME, Request.signed(after_s=86400)
    yield "time: 6 s before it was created", TIME, Request.signed(after_s=-6)
    yield "time: 306 s after it was created, without expiry", TIME, Request.signed(after_s=306, expires_s=0)
    yield "time: expired after 60 s", TIME, Request.signed(after_s=66, expires_s=60)
    yield "time: expires later, but is too old", TIME, Request.signed(after_s=306, expires_s=86400)


def _next_letter(text: str, position: int) -> str:
    """The text with the base64 character at `position` replaced by the next one of the alphabet."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    following = alphabet[(alphabet.index(text[position]) + 1) % 64]
    return text[:position] + following + text[position + 1 :]
