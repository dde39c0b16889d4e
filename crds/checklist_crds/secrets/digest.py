"""What is kept of a secret that its holder shows again: a key, a one-time link, a session's cookie.

All of them are random, with 190 bits and more, so that no slow hash is needed: nobody guesses one from its digest.
Passwords are no such secrets.
"""

import hashlib


def digest(secret: str) -> str:
    """SHA-256, 64 lower-case hexadecimal digits."""
    return hashlib.sha256(secret.encode()).hexdigest()
