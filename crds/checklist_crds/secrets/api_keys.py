"""API keys: `cds_live_` and 32 random characters; only their SHA-256 is ever stored (contract section 1)."""

import re
import secrets
import string
from typing import Final

PREFIX: Final = "cds_live_"
_ALPHABET: Final = string.ascii_letters + string.digits
_FORM: Final = re.compile(rf"{PREFIX}[0-9A-Za-z]{{32}}")


def new_key() -> str:
    """A fresh plaintext key. Whoever makes it shows it once and keeps only its `digest`."""
    return PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(32))


def is_well_formed(text: str) -> bool:
    """Whether `text` can be a key at all: anything else is refused without a look-up."""
    return _FORM.fullmatch(text) is not None


def object_name(sha256: str) -> str:
    """The name of the ApiKey object for a digest: one GET authenticates on a cold cache."""
    return f"key-{sha256[:40]}"
