"""The signature of a delivery: RFC 9421 with RFC 9530 Content-Digest (delivery profile, "Signature").

The library serialises and signs; this module fixes every choice that it leaves open, and the order of the parameters,
so that receivers can parse them with a regular expression. `HTTPMessageSigner.sign` would build the signature base
twice (to check that the message did not change), which is half of its cost; `prepare` and the algorithm are the same
code without that.

The commands `listen` and `verify` have the profile a second time, on purpose (`cli/checklist_cli/receiver/
signature_profile.py`): a verifier must not share the mistakes of the signer. The published vectors check both.
"""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from http_message_signatures import HTTPMessageSigner, algorithms

LABEL: Final = "sig1"
TAG: Final = "checklist-dispatch/v1"
COMPONENTS: Final = ("@method", "@target-uri", "@authority", "content-type", "content-digest")
CONTENT_TYPE: Final = "application/json"
DEFAULT_EXPIRES_S: Final = 300

_SIGNER: Final = HTTPMessageSigner(signature_algorithm=algorithms.HMAC_SHA256)


@dataclass(frozen=True, slots=True)
class _Message:
    """The part of a request that the library reads."""

    method: str
    url: str
    headers: Mapping[str, str]


def sign(
    url: str,
    body: bytes,
    *,
    secret: bytes,
    key_id: str,
    created: datetime,
    nonce: str,
    expires_s: int = DEFAULT_EXPIRES_S,
) -> dict[str, str]:
    """Returns the headers that sign a POST of these bytes to this URL.

    `url` is canonical (`webhook_url.canonical_url`) and signed as is. `secret` is the run's secret in UTF-8, `key_id`
    the run id, `nonce` new for every transmission, `expires_s` the seconds after `created` (0 omits it). The headers
    are Content-Type, Content-Digest, Signature-Input and Signature. Raises ValueError for an empty secret, which
    anyone could use; the library's own error for values that no header can carry.
    """
    if not secret:
        raise ValueError("a delivery is never signed with an empty secret")
    headers = {
        "Content-Type": CONTENT_TYPE,
        "Content-Digest": f"sha-256=:{b64encode(hashlib.sha256(body).digest()).decode()}:",
    }
    prepared = _SIGNER.prepare(
        _Message("POST", url, headers),
        key_id=key_id,
        created=created,
        expires=created + timedelta(seconds=expires_s) if expires_s else None,
        nonce=nonce,
        label=LABEL,
        tag=TAG,
        covered_component_ids=COMPONENTS,
        use_existing_digest=True,
    )
    params = _in_order_of_rfc(prepared.signature_params, has_expires=bool(expires_s))
    base = prepared.signature_base.removesuffix(prepared.signature_params.encode()) + params.encode()
    signature = algorithms.HMAC_SHA256(shared_secret=secret).sign(base)
    headers["Signature-Input"] = f"{LABEL}={params}"
    headers["Signature"] = f"{LABEL}=:{b64encode(signature).decode()}:"
    return headers


def _in_order_of_rfc(params: str, *, has_expires: bool) -> str:
    """Sorts the signature parameters as listed in RFC 9421, section 2.3.

    Some verifiers rebuild them in that order, whatever order they received. The library has its own order. Of all
    values, only the key id may contain a semicolon.
    """
    components, created, others = params.split(";", 2)
    key_id, alg, *expires, nonce, tag = others.rsplit(";", 4 if has_expires else 3)
    return ";".join((components, created, *expires, nonce, alg, key_id, tag))
