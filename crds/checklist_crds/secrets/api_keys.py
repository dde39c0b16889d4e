"""API keys: `cds_live_` and 32 random characters; only the SHA-256 is stored (contract section 1)."""

import re
import secrets
import string
from typing import Final

PREFIX: Final = "cds_live_"
_ALPHABET: Final = string.ascii_letters + string.digits
_FORM: Final = re.compile(rf"{PREFIX}[0-9A-Za-z]{{32}}")


def new_key() -> str:
    """Returns a new plaintext key. Show it once and store only its `digest`."""
    return PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(32))


def is_well_formed(text: str) -> bool:
    """Whether `text` has the form of a key: other text is refused without a look-up."""
    return _FORM.fullmatch(text) is not None


def object_name(sha256: str) -> str:
    """Returns the name of the ApiKey object for a digest, so that one GET authenticates on a cold cache."""
    return f"key-{sha256[:40]}"
