"""Finds out why a check failed, by trying the usual mistakes of receivers.

An invalid signature does not reveal its cause, but one that is valid with one thing changed (the URL of the request
instead of the configured one, the secret without its line end) does. Nothing here decides whether a request is genuine.
"""

import base64
import hmac
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from checklist_crds.resources.webhook_url import InvalidTarget, canonical_url

from .captured_request import CapturedRequest
from .signature_profile import CONTENT_TYPE, SignatureInput, content_digest, signature

LOST_FIELD: Final = "all deliveries have it: the request is not a delivery, or a proxy or framework dropped the field"
FOREIGN: Final = "the request was not made by Checklist Dispatch, or was changed on its way"
_NO_TRACE: Final = (
    "compare the secret with the one given at dispatch (of this run), and the URL with webhook.url as given there"
)


def why_digest(body: bytes, digest: str) -> str:
    """How the body was changed, if it can be found out."""
    for changed, how in _changed_bodies(body):
        if content_digest(changed) == digest:
            return how
    return "verify the bytes as they arrived, before anything parses, decompresses or re-encodes them"


def _changed_bodies(body: bytes) -> Iterator[tuple[bytes, str]]:
    for end in (b"\n", b"\r\n"):
        if body.endswith(end):
            yield body.removesuffix(end), "a line end was added at the end of the body: keep the bytes as they arrived"
    if b"\r\n" in body:
        yield body.replace(b"\r\n", b"\n"), "line ends were changed to CRLF: keep the body in binary mode"
    if body.startswith(b"\xef\xbb\xbf"):
        yield body[3:], "a byte order mark was put before the body: keep the bytes as they arrived"
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return
    reencoded = "the body was parsed and written again: verify the bytes that arrived, not JSON made from them"
    for ascii_only in (False, True):
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(document, ensure_ascii=ascii_only, separators=separators)
            yield text.encode("utf-8", "surrogatepass"), reencoded


def why_signature(request: CapturedRequest, signed: SignatureInput, value: str, *, url: str, secret: bytes) -> str:
    """What to change so that the signature is valid, if it can be found out."""
    digest = request.field("content-digest") or ""
    urls = [(url, ""), *_other_urls(request, url)]
    for other_secret, about_secret in ((secret, ""), *_other_secrets(secret)):
        for other_url, about_url in urls:
            for other_type, about_type in _content_types(request):
                for method, about_method in _methods(request):
                    made = signature(method, other_url, other_type, digest, signed.params, secret=other_secret)
                    if hmac.compare_digest(value.encode("latin-1", "replace"), made.encode()):
                        causes = (about_secret, about_url, about_type, about_method)
                        return "it is valid with this change: " + "; ".join(filter(None, causes))
    return _NO_TRACE


def _other_secrets(secret: bytes) -> Iterator[tuple[bytes, str]]:
    stripped = secret.strip()
    if stripped != secret:
        yield stripped, "remove the spaces or line end around the secret"
    if len(stripped) > 2 and stripped[:1] == stripped[-1:] and stripped[:1] in (b'"', b"'"):
        yield stripped[1:-1], "remove the quotes around the secret"
    for end in (b"\n", b"\r\n", b" "):
        yield secret + end, "the secret given at dispatch ends in white space, and this one does not"
    encoded = "the key is the secret's own characters in UTF-8, not what they decode to"
    yield base64.b64encode(secret), encoded
    yield base64.urlsafe_b64encode(secret).rstrip(b"="), encoded
    yield secret.hex().encode(), encoded
    decoded = "the secret given at dispatch was what this one decodes to"
    with suppress(ValueError):
        yield base64.b64decode(stripped, validate=True), decoded
    with suppress(ValueError):
        yield bytes.fromhex(stripped.decode()), decoded


def _other_urls(request: CapturedRequest, url: str) -> Iterator[tuple[str, str]]:
    """URLs that may have been signed, without duplicates."""
    tried = {url}
    for candidate in _url_candidates(request, url):
        try:
            other = canonical_url(candidate, allow_insecure=True)
        except InvalidTarget:
            continue
        if other not in tried:
            tried.add(other)
            yield other, f"the URL is {other} (take webhook.url as given at dispatch)"


def _url_candidates(request: CapturedRequest, url: str) -> Iterator[str]:
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    hosts = [authority, *(request.field(name) or "" for name in ("host", "x-forwarded-host", "x-original-host"))]
    targets = [
        slash + path,
        request.target,
        *(request.field(name) or "" for name in ("x-original-url", "x-forwarded-uri")),
    ]
    targets += [target.partition("?")[0] for target in targets]
    targets += [target.rstrip("/") if target.endswith("/") else target + "/" for target in targets]
    for host in filter(None, dict.fromkeys(hosts)):
        for target in dict.fromkeys(targets):
            if not target or target.startswith("/"):
                yield f"{scheme}://{host}{target}"
                yield f"{'http' if scheme == 'https' else 'https'}://{host}{target}"


def _content_types(request: CapturedRequest) -> Iterator[tuple[str, str]]:
    value = request.field("content-type") or ""
    yield value, ""
    if value != CONTENT_TYPE:
        yield CONTENT_TYPE, f"Content-Type was {CONTENT_TYPE} when it was sent"


def _methods(request: CapturedRequest) -> Iterator[tuple[str, str]]:
    yield request.method, ""
    if request.method != "POST":
        yield "POST", "the method was POST when it was sent"
