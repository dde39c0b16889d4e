"""Digests of secrets that their holders present again: API keys, one-time links, session cookies.

All of them are random, with 190 bits or more, so no slow hash is needed. Passwords are hashed elsewhere.
"""

import hashlib


def digest(secret: str) -> str:
    """SHA-256, 64 lower-case hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()
