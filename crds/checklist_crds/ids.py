"""Identifiers (specification, "Identifier formats"; contract section 1).

Run ids are credentials of the preview, so they must be unpredictable: `new_id` uses the operating system's CSPRNG,
`keyed_id` a MAC with a server key. Ids of objects named by people (GitOps) are derived from their name, so that they
survive a restore into another cluster.
"""

import hashlib
import hmac
import re
import uuid
from typing import Final

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
ID_PATTERNS: Final = {prefix: f"^{prefix}-{_UUID}$" for prefix in ("t", "r", "u", "org", "evt")}
AUTHOR_ID_PATTERNS: Final = {prefix: f"^{prefix}-[A-Za-z0-9_-]{{1,64}}$" for prefix in ("g", "s", "o")}
_COMPILED: Final = {prefix: re.compile(pattern) for prefix, pattern in ID_PATTERNS.items()}
_NAMESPACE: Final = uuid.UUID("5f0c8a9e-3a0b-5d0e-9d5c-0d2f6a1c7b11")


def is_id(prefix: str, text: object) -> bool:
    """Whether `text` is an id of the form `<prefix>-<lower-case uuid>`."""
    return isinstance(text, str) and len(text) <= 64 and _COMPILED[prefix].fullmatch(text) is not None


def new_id(prefix: str) -> str:
    """Returns a random id (UUID version 4)."""
    return f"{prefix}-{uuid.uuid4()}"


def keyed_id(prefix: str, key: bytes, *parts: str) -> str:
    """Returns an id in version 4 form that only the holder of `key` can predict; the same parts give the same id."""
    message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    digest = hmac.new(key, message, hashlib.sha256).digest()
    return f"{prefix}-{uuid.UUID(bytes=digest[:16], version=4)}"


def derived_id(prefix: str, *parts: str) -> str:
    """Returns a UUID version 5 of prefix and parts: for objects named by people, and for events."""
    return f"{prefix}-{uuid.uuid5(_NAMESPACE, '/'.join((prefix, *parts)))}"


def object_id(prefix: str, name: str, *scope: str) -> str:
    """Returns the public id of a Kubernetes object: its name if that is an id, else derived from it."""
    return name if is_id(prefix, name) else derived_id(prefix, *scope, name)
