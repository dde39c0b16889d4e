"""Validates e-mail addresses."""

import re
import unicodedata
from typing import Final

import idna

_LOCAL_PART: Final = re.compile(r"[^\s@.,:;<>()\[\]\\\"\x00-\x1f\x7f]+(?:\.[^\s@.,:;<>()\[\]\\\"\x00-\x1f\x7f]+)*")


def is_email_address(text: str) -> bool:
    """Whether `text` is a dotted local part of at most 64 characters and a domain name of at least two labels, also
    internationalized. Quoted local parts and address literals are rejected on purpose."""
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64 or _LOCAL_PART.fullmatch(local) is None:
        return False
    if any(unicodedata.category(character)[0] in "CZ" for character in local):
        return False
    try:
        encoded = idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return False
    labels = encoded.split(".")
    return len(labels) >= 2 and all(labels) and not labels[-1].isdigit()
