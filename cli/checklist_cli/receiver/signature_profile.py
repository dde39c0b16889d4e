"""The signature format (docs/receivers.md): the accepted Signature-Input, and the signed text.

Independent of the sender's code (`operator/checklist_operator/transport/signing.py`) and library, so that verification
does not share their mistakes. The published vectors check both.
"""

import hmac
import re
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

LABEL: Final = "sig1"
COMPONENTS: Final = ("@method", "@target-uri", "@authority", "content-type", "content-digest")
PARAMETERS: Final = ("created", "expires", "nonce", "alg", "keyid", "tag")
FORMER_PARAMETERS: Final = ("created", "keyid", "alg", "expires", "nonce", "tag")
"""The order of earlier versions, accepted so that receivers and service can be upgraded separately."""
OPTIONAL_PARAMETERS: Final = frozenset({"expires"})
ALGORITHM: Final = "hmac-sha256"
TAG: Final = "checklist-dispatch/v1"
CONTENT_TYPE: Final = "application/json"

_COMPONENT_LIST: Final = "(" + " ".join(f'"{name}"' for name in COMPONENTS) + ")"
_FORMS: Final = {
    "created": r";created=(?P<created>[0-9]{1,15})",
    "expires": r"(?:;expires=(?P<expires>[0-9]{1,15}))?",
    "nonce": r';nonce="(?P<nonce>[A-Za-z0-9_-]+)"',
    "alg": rf';alg="{ALGORITHM}"',
    "keyid": r';keyid="(?P<keyid>[\x20-\x21\x23-\x5b\x5d-\x7e]*)"',
    "tag": rf';tag="{re.escape(TAG)}"',
}
_INPUTS: Final = [
    re.compile(rf"{LABEL}=(?P<params>{re.escape(_COMPONENT_LIST)}{''.join(_FORMS[name] for name in order)})")
    for order in (PARAMETERS, FORMER_PARAMETERS)
]
_LOOSE_INPUT: Final = re.compile(r"\s*(?P<label>[a-z*][a-z0-9_.*-]*)\s*=\s*\((?P<components>[^)]*)\)(?P<rest>.*)", re.S)
_LOOSE_PARAMETER: Final = re.compile(r';\s*([a-z*][a-z0-9_.*-]*)(?:=("(?:[^"\\]|\\.)*"|[^;,\s]*))?')


class NotInProfile(ValueError):
    """A Signature-Input of another form; the message names the difference."""


@dataclass(frozen=True, slots=True)
class SignatureInput:
    """A Signature-Input in our profile. `created` and `expires` are seconds since 1970."""

    params: str
    created: int
    key_id: str
    expires: int | None
    nonce: str


def parse_input(value: str) -> SignatureInput:
    """Raises NotInProfile."""
    match = next(filter(None, (form.fullmatch(value) for form in _INPUTS)), None)
    if match is None:
        raise NotInProfile(_deviation(value))
    expires = match["expires"]
    return SignatureInput(
        match["params"], int(match["created"]), match["keyid"], int(expires) if expires else None, match["nonce"]
    )


def content_digest(body: bytes) -> str:
    """The Content-Digest of `body` (RFC 9530)."""
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"


def signature(method: str, url: str, content_type: str, digest: str, params: str, *, secret: bytes) -> str:
    """The value of the field Signature (RFC 9421 section 2.5, HMAC-SHA256). `url` is canonical."""
    authority = url.partition("://")[2].partition("/")[0]
    values = (method, url, authority, content_type, digest)
    base = "".join(f'"{name}": {value}\n' for name, value in zip(COMPONENTS, values, strict=True))
    base += f'"@signature-params": {params}'
    mac = hmac.new(secret, base.encode("utf-8", "surrogateescape"), sha256).digest()
    return f"{LABEL}=:{b64encode(mac).decode()}:"


def _deviation(value: str) -> str:
    """How a Signature-Input differs from the profile."""
    loose = _LOOSE_INPUT.fullmatch(value)
    if loose is None:
        return "it is not a list of components with parameters"
    if loose["label"] != LABEL:
        return f"its label is not {LABEL}"
    named = re.findall(r'"([^"]*)"', loose["components"])
    missing = [name for name in COMPONENTS if name not in named]
    if missing:
        return f"it does not cover {', '.join(missing)}"
    if f"({loose['components']})" != _COMPONENT_LIST:
        return f"its components are not exactly {_COMPONENT_LIST}, in this order"
    parameters = _LOOSE_PARAMETER.findall(loose["rest"])
    names = [name for name, _ in parameters]
    for name in PARAMETERS:
        if name not in names and name not in OPTIONAL_PARAMETERS:
            return f"the parameter {name} is missing"
    given = dict(parameters)
    if given["alg"] != f'"{ALGORITHM}"':
        return f'its alg is not "{ALGORITHM}"'
    if given["tag"] != f'"{TAG}"':
        return f'its tag is not "{TAG}"'
    return f"its parameters are not {', '.join(PARAMETERS)}, in this order and in their usual form"
