"""The document of vectors for receivers, as text."""

import json
from collections.abc import Iterator
from typing import Any, Final

from checklist_crds.resources.webhook_url import canonical_url
from checklist_dev.generate.webhook_vectors.refused import refused
from checklist_dev.generate.webhook_vectors.requests import EVENT, RUN, Request, envelope
from checklist_dev.generate.webhook_vectors.urls import AS_CONFIGURED, CANONICAL, OF_PUBLIC_ADDRESSES
from checklist_dev.repository import ROOT

FILE: Final = ROOT / "docs" / "webhook-vectors.json"
PROFILE: Final = "checklist-dispatch/v1"
FORMAT: Final = 1
ABOUT: Final = (
    "Requests as a receiver of Checklist Dispatch gets them; docs/receivers.md says what is checked.",
    "vectors: verify method, url (the one that was configured, in its canonical form), headers and the UTF-8 bytes of "
    "body with the UTF-8 bytes of secret at the time now (Unix seconds), 300 s of age and 5 s of skew allowed. expect "
    "is accept or refuse. check is the check that fails (content-digest, signature-input, time, signature), for a "
    "verifier that makes them in this order; yours may name another one, and has to refuse all the same.",
    "signature_base: what is signed, by RFC 9421 section 2.5.",
    "sequences: vectors that come one after the other at a receiver that remembers. duplicate: answer 2xx and do "
    "nothing, for the event_id is known. replay: refuse, for the nonce is known.",
    "urls: what somebody configures, and the form in which it is stored, signed and sent.",
)

_URLS: Final = [
    *zip(AS_CONFIGURED, CANONICAL, strict=True),
    *((given, canonical_url(given)) for given in OF_PUBLIC_ADDRESSES),
]

SECRETS: Final = {
    "of 16 characters": "0123456789abcdef",
    "of 256 characters": "0123456789abcdef" * 16,
    "of 64 characters": "0123456789abcdef" * 4,
    "of 65 characters": "0123456789abcdef" * 4 + "x",
    "in other letters": "Geheimnis-für-ß-☃-秘密",
    "with spaces at its ends": "  a secret of sixteen  ",
    "that looks like base64": "c2VjcmV0IG9mIHNpeHRlZW4=",
    "with a prefix": "whsec_c2VjcmV0IG9mIHNpeHRlZW4",
}
_START: Final = f'"event_id":"{EVENT}","delivery_attempt":1,"event":"run.completed","run_id":"{RUN}"'
SHORT_BODY: Final = "{" + _START + "}"
BODIES: Final = {
    "in other letters, with odd line ends": "{" + _START + ',"data":{"note":"ü ☃ \u2028 \U0001f600"}}',
    "with spaces and line ends": "{\r\n  " + _START.replace(",", ",\r\n  ") + "\r\n}\r\n",
    "with escapes": "{" + _START + ',"data":{"note":"\\u00fc \\/ \\\\"}}',
}
FIRST: Final = "attempt 1"
SECOND: Final = "attempt 2 of the same event"
AGAIN: Final = "attempt 1, sent again after a restart"
OTHER: Final = "another event"


def document() -> dict[str, Any]:
    accepted = list(_accepted())
    vectors = [{"name": name, **_shown(request), "expect": "accept"} for name, request in accepted]
    vectors += [
        {"name": name, **_shown(request, with_base=False), "expect": "refuse", "check": check}
        for name, check, request in refused()
    ]
    return {
        "profile": PROFILE,
        "format": FORMAT,
        "about": ABOUT,
        "vectors": vectors,
        "sequences": [
            {"vectors": [FIRST, SECOND, AGAIN, OTHER], "expect": ["accept", "duplicate", "duplicate", "accept"]},
            {"vectors": [FIRST, FIRST, OTHER], "expect": ["accept", "replay", "accept"]},
        ],
        "urls": [
            {"given": given, "canonical": canonical} for given, canonical in zip(AS_CONFIGURED, CANONICAL, strict=True)
        ],
    }


def written() -> str:
    """ASCII JSON with one line per member of a vector, for readable diffs."""
    members = []
    for name, value in document().items():
        shown = json.dumps(value)
        if isinstance(value, list | tuple):
            shown = "[\n" + ",\n".join(_lines_of(each) for each in value) + "\n]"
        members.append(f'"{name}": {shown}')
    return "{\n" + ",\n".join(members) + "\n}\n"


def _lines_of(entry: Any) -> str:
    if not isinstance(entry, dict) or "method" not in entry:
        return "  " + json.dumps(entry)
    return "  {\n" + ",\n".join(f'    "{name}": {json.dumps(value)}' for name, value in entry.items()) + "\n  }"


def _accepted() -> Iterator[tuple[str, Request]]:
    yield FIRST, Request.signed()
    yield SECOND, Request.signed(body=envelope(2), nonce="c2Vjb25kIHR3bw", after_s=32)
    yield AGAIN, Request.signed(nonce="YWdhaW4gYWdhaW4", after_s=5)
    yield OTHER, Request.signed(body=envelope(event_id=EVENT[:-1] + "8", run_id=RUN), nonce="b3RoZXIgb3RoZXI")
    for what, secret in SECRETS.items():
        yield f"secret {what}", Request.signed(secret=secret)
    for what, body in BODIES.items():
        yield f"body {what}", Request.signed(body=body)
    yield "time: 305 s after it was created", Request.signed(after_s=305)
    yield "time: 5 s before it was created", Request.signed(after_s=-5)
    yield "time: without expiry", Request.signed(expires_s=0)
    yield "time: 65 s after it was created, expires after 60 s", Request.signed(after_s=65, expires_s=60)
    former = "keyid", "alg", "expires", "nonce", "tag"
    yield "parameters: in the order of earlier versions", Request.signed().in_order(*former)
    yield (
        "parameters: in the order of earlier versions, without expiry",
        Request.signed(expires_s=0).in_order(*former),
    )
    for given, url in _URLS:
        shown = given if len(given) < 80 else f"{given[:60]}... ({len(given)} characters)"
        yield f"url {shown}", Request.signed(url, SHORT_BODY)


def _shown(request: Request, *, with_base: bool = True) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "headers": [list(header) for header in request.headers],
        "body": request.body,
        "secret": request.secret,
        "now": request.now,
    }
    return shown | {"signature_base": request.signature_base()} if with_base else shown
