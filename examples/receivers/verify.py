"""Verify a delivery of Checklist Dispatch with nothing but the standard library."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping

COMPONENTS = '("@method" "@target-uri" "@authority" "content-type" "content-digest")'
INPUT = re.compile(
    rf"sig1=({re.escape(COMPONENTS)};created=(\d+)"
    r'(?:(?:;expires=(\d+))?;nonce="([\w-]+)";alg="hmac-sha256";keyid="([^"]*)"'
    r'|;keyid="([^"]*)";alg="hmac-sha256"(?:;expires=(\d+))?;nonce="([\w-]+)")'  # the order of earlier versions
    r';tag="checklist-dispatch/v1")',
    re.ASCII,
)


def verify(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    *,
    now: float,
    max_age: int = 300,
    skew: int = 5,
) -> tuple[str, str]:
    """The keyid and the nonce of a genuine, fresh delivery; else raises ValueError that names the check that failed."""
    fields: dict[str, str] = {}
    for name, value in headers.items():  # a field that occurs twice is joined, and then fits nothing below
        earlier = fields.get(name.lower())
        fields[name.lower()] = value.strip() if earlier is None else f"{earlier}, {value.strip()}"
    digest = "sha-256=:" + base64.b64encode(hashlib.sha256(body).digest()).decode() + ":"
    if not hmac.compare_digest(fields.get("content-digest", "").encode(), digest.encode()):
        raise ValueError("content-digest: the body is not the one that was sent")
    signed = INPUT.fullmatch(fields.get("signature-input", ""))
    if not signed:
        raise ValueError("signature-input: not one sig1 with the five components, in order, and our tag")
    created = int(signed[2])
    expires = int(signed[3] or signed[7] or created + max_age)
    if not created - skew <= now <= min(created + max_age, expires) + skew:
        raise ValueError("created, expires: too old, or from the future")
    values = (method, url, url.split("/")[2], fields.get("content-type", ""), digest)
    names = COMPONENTS[1:-1].split()
    base = "".join(f"{name}: {value}\n" for name, value in zip(names, values, strict=True))
    base += f'"@signature-params": {signed[1]}'
    mac = base64.b64encode(hmac.new(secret.encode(), base.encode(), hashlib.sha256).digest()).decode()
    if not hmac.compare_digest(fields.get("signature", "").encode(), f"sig1=:{mac}:".encode()):
        raise ValueError("signature: made with another secret, or for another request")
    return signed[5] or signed[6] or "", signed[4] or signed[8]
