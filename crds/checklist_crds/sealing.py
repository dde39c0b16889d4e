"""Secrets at rest and tokens: webhook secrets are sealed, executor links are signed.

A sealed secret is `<key id>:<base64url(nonce + AES-256-GCM ciphertext)>`, bound to the run it belongs to, so that it
cannot be moved to another one. The first key of the ring seals; every key of the ring opens (rotation).
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12


class SealBroken(Exception):
    """The text was sealed under an unknown key, for another run, or was altered."""


class KeyRing:
    """The sealing keys by id, the sealing one first."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise ValueError("at least one sealing key is needed")
        for number, (key_id, key) in enumerate(keys.items(), start=1):
            if len(key) != 32 or not key_id or ":" in key_id:
                raise ValueError(f"sealing key number {number} must be 32 bytes with an id without a colon")
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._current = next(iter(keys))

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """From `id:base64,id:base64`, the sealing key first. Raises ValueError, which repeats nothing of the text."""
        keys = {}
        for number, part in enumerate(filter(None, (item.strip() for item in text.split(","))), start=1):
            key_id, colon, encoded = part.partition(":")
            if not colon or not key_id:
                raise ValueError(f"sealing key number {number} must be written as id:base64")
            try:
                keys[key_id] = base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise ValueError(f"sealing key number {number} is not base64") from None
        return cls(keys)

    def seal(self, plaintext: str, *, owner: str) -> str:
        """Seal `plaintext` for `owner` (a run id)."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, plaintext.encode(), owner.encode())
        return f"{self._current}:{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, owner: str) -> str:
        """The plaintext. Raises SealBroken; its message never holds any part of the secret."""
        key_id, _, encoded = sealed.partition(":")
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise SealBroken(f"sealed under the unknown key {key_id!r}")
        try:
            raw = base64.urlsafe_b64decode(encoded)
            return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], owner.encode()).decode()
        except (InvalidTag, ValueError):
            raise SealBroken("the sealed text was altered or belongs to another run") from None


def derive_key(server_key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that a token of one kind can never serve as another."""
    return hmac.new(server_key, f"checklist-dispatch/{purpose}".encode(), hashlib.sha256).digest()


def executor_token(server_key: bytes, run_id: str) -> str:
    """The token in the fragment of a run's link (contract section 6): 43 URL-safe characters."""
    mac = hmac.new(derive_key(server_key, "executor-link"), run_id.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def is_executor_token(server_key: bytes, run_id: str, token: str) -> bool:
    """Whether `token` opens `run_id`, in constant time."""
    return hmac.compare_digest(executor_token(server_key, run_id).encode(), token.encode())
