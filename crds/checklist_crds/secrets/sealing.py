"""Sealed secrets and signed tokens.

A sealed secret is `<key id>:<base64url(nonce + AES-256-GCM ciphertext)>`, bound to its run, so that it cannot be used
in another one. The first key of the ring seals; every key of the ring opens (rotation: docs/secrets.md).
"""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12
_KEY_ID: Final = r"[A-Za-z0-9._-]{1,64}"
_EXECUTOR_LINK: Final = "executor-link"
_KEY_ID_FORM: Final = re.compile(_KEY_ID)
# Nonce and tag alone are 28 bytes, 38 characters.
_SEALED_FORM: Final = re.compile(rf"({_KEY_ID}):[A-Za-z0-9_-]{{38,}}={{0,2}}")


def sealing_key_of(sealed: str) -> str | None:
    """Returns the id of the key in `sealed`; None for malformed text.

    A plaintext secret may have been stored by mistake: never repeat any part of other text.
    """
    form = _SEALED_FORM.fullmatch(sealed)
    return form and form[1]


class SealBroken(Exception):
    """The text was sealed with an unknown key or for another run, or was altered."""


class KeyRing:
    """The sealing keys by id, the current one first."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise ValueError("at least one sealing key is needed")
        for number, (key_id, key) in enumerate(keys.items(), start=1):
            if len(key) != 32:
                raise ValueError(f"sealing key number {number} must have 32 bytes")
            if not _KEY_ID_FORM.fullmatch(key_id):
                raise ValueError(
                    f"the id of sealing key number {number} must be 1 to 64 letters, digits, dots, hyphens, underscores"
                )
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}

    @property
    def current(self) -> str:
        """The id of the key that seals."""
        return next(iter(self._ciphers))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the current one first."""
        return tuple(self._ciphers)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.ids)})"

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """Parses `id:base64,id:base64`, the current key first. Raises ValueError, which repeats nothing of the text."""
        keys: dict[str, bytes] = {}
        for number, part in enumerate(filter(None, (item.strip() for item in text.split(","))), start=1):
            key_id, colon, encoded = part.partition(":")
            if not colon or not key_id:
                raise ValueError(f"sealing key number {number} must be written as id:base64")
            if key_id in keys:  # replacing a key would make its sealed texts unreadable
                raise ValueError(f"sealing key number {number} has the id of another one")
            try:
                keys[key_id] = base64.b64decode(encoded, validate=True)
            except ValueError:
                raise ValueError(f"sealing key number {number} is not base64") from None
        return cls(keys)

    def renew(self, text: str) -> None:
        """Replaces the keys by those of `text`. Raises ValueError, and then nothing changes."""
        self._ciphers = KeyRing.parse(text)._ciphers

    def seal(self, plaintext: str, *, owner: str) -> str:
        """Seals `plaintext` for `owner`, such as `run_owner`."""
        nonce = os.urandom(_NONCE_BYTES)
        key_id, cipher = next(iter(self._ciphers.items()))
        sealed = cipher.encrypt(nonce, plaintext.encode(), owner.encode())
        return f"{key_id}:{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, owner: str) -> str:
        """Returns the plaintext. Raises SealBroken, whose message contains no part of the secret."""
        key_id = sealing_key_of(sealed)
        if key_id is None:
            raise SealBroken("not a sealed text")
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise SealBroken(f"sealed under the unknown key {key_id!r}")
        try:
            raw = base64.urlsafe_b64decode(sealed.partition(":")[2])
            return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], owner.encode()).decode()
        except (InvalidTag, ValueError):
            raise SealBroken("the sealed text was altered or belongs to another run") from None

    def reseal(self, sealed: str, *, owner: str) -> str:
        """Seals the secret with the current key; returns `sealed` if it already is. Raises SealBroken."""
        plaintext = self.open(sealed, owner=owner)
        return sealed if sealing_key_of(sealed) == self.current else self.seal(plaintext, owner=owner)


def run_owner(namespace: str, run_id: str) -> str:
    """Returns the owner for sealing a run's secret. It includes the namespace: otherwise a run of the same name in
    another namespace could use the sealed text to have events signed."""
    return f"{namespace}/{run_id}"


def parse_server_key(text: str) -> bytes:
    """Parses one key from base64 of 32 bytes. Raises ValueError, which repeats nothing of the text."""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError("must be base64 of 32 bytes")
    return key


def derive_key(server_key: bytes, purpose: str) -> bytes:
    """Derives a key for each purpose, so that a token of one kind cannot be used as another."""
    return hmac.new(server_key, f"checklist-dispatch/{purpose}".encode(), hashlib.sha256).digest()


class ServerKeys:
    """The server keys: the first one signs, all of them verify (rotation: docs/secrets.md).

    Signatures name no key, so each key is tried.
    """

    def __init__(self, *keys: bytes) -> None:
        """Keys of 32 bytes."""
        self._keys = _distinct(keys)
        self._derived: dict[str, tuple[bytes, ...]] = {}

    @property
    def current(self) -> bytes:
        return self._keys[0]

    @property
    def all(self) -> tuple[bytes, ...]:
        return self._keys

    @classmethod
    def parse(cls, text: str) -> "ServerKeys":
        """Parses base64 of 32 bytes, or a comma-separated list. Raises ValueError, without the text."""
        return cls(*(parse_server_key(part.strip()) for part in text.split(",")))

    def renew(self, text: str) -> None:
        """Replaces the keys by those of `text`. Raises ValueError, and then nothing changes."""
        self._keys, self._derived = ServerKeys.parse(text)._keys, {}

    def derived(self, purpose: str) -> tuple[bytes, ...]:
        """Returns the keys for one purpose, the signing one first."""
        found = self._derived.get(purpose)
        if found is None:
            found = self._derived[purpose] = tuple(derive_key(key, purpose) for key in self._keys)
        return found

    def mac(self, purpose: str, message: bytes) -> bytes:
        """Returns the HMAC-SHA-256 by the signing key."""
        return hmac.digest(self.derived(purpose)[0], message, "sha256")

    def is_mac(self, purpose: str, message: bytes, mac: bytes) -> bool:
        """Whether any of the keys produces the MAC, in constant time."""
        made = (hmac.digest(key, message, "sha256") for key in self.derived(purpose))
        return any(hmac.compare_digest(one, mac) for one in made)

    def __repr__(self) -> str:
        return f"ServerKeys({len(self._keys)})"


def _distinct(keys: tuple[bytes, ...]) -> tuple[bytes, ...]:
    if not keys or any(len(key) != 32 for key in keys):
        raise ValueError("must be base64 of 32 bytes")
    if len(set(keys)) != len(keys):
        raise ValueError("must not hold the same key twice")
    return keys


def executor_token(server_keys: ServerKeys, organization: str, run_id: str) -> str:
    """Returns the token in the fragment of a run's link (contract section 6): 43 URL-safe characters.

    `organization`: the public id of the run's organization. The same run id of another one has another token.
    """
    return url_safe(server_keys.mac(_EXECUTOR_LINK, _link(organization, run_id)))


def executor_link(base_url: str, server_keys: ServerKeys, organization: str, run_id: str) -> str:
    """Returns the link for the executor, which allows answering the run (contract section 6).

    `organization`: public id of the run's organization. All links are made by this function.
    """
    return f"{base_url}/r/{run_id}#{executor_token(server_keys, organization, run_id)}"


def is_executor_token(server_keys: ServerKeys, organization: str, run_id: str, token: str) -> bool:
    """Whether `token` opens the run `run_id` of `organization`, in constant time."""
    mac = from_url_safe(token)
    return mac is not None and server_keys.is_mac(_EXECUTOR_LINK, _link(organization, run_id), mac)


def is_unbound_token(server_keys: ServerKeys, run_id: str, token: str) -> bool:
    """Whether `token` is for the run id alone, as in versions before 0.1.0."""
    mac = from_url_safe(token)
    return mac is not None and server_keys.is_mac(_EXECUTOR_LINK, run_id.encode(), mac)


def _link(organization: str, run_id: str) -> bytes:
    return f"{organization}/{run_id}".encode()


def url_safe(mac: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def from_url_safe(text: str) -> bytes | None:
    """Inverse of `url_safe`, accepting only its exact form; None for other text."""
    try:
        mac = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        return None
    return mac if url_safe(mac) == text else None
