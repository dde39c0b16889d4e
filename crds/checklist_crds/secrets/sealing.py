"""Secrets at rest and tokens: webhook secrets are sealed, executor links are signed.

A sealed secret is `<key id>:<base64url(nonce + AES-256-GCM ciphertext)>`, bound to the run it belongs to, so that it
cannot be moved to another one. The first key of the ring seals; every key of the ring opens (rotation:
docs/secrets.md).
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
    """The id of the key that `sealed` names; None for what has not the form of a sealed text.

    Somebody may have written a secret itself where a sealed one belongs: no part of any other text is to be repeated.
    """
    form = _SEALED_FORM.fullmatch(sealed)
    return form and form[1]


class SealBroken(Exception):
    """The text was sealed under an unknown key, for another run, or was altered."""


class KeyRing:
    """The sealing keys by id, the sealing one first."""

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
        """The ids of all keys, the sealing one first."""
        return tuple(self._ciphers)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.ids)})"

    @classmethod
    def parse(cls, text: str) -> "KeyRing":
        """From `id:base64,id:base64`, the sealing key first. Raises ValueError, which repeats nothing of the text."""
        keys: dict[str, bytes] = {}
        for number, part in enumerate(filter(None, (item.strip() for item in text.split(","))), start=1):
            key_id, colon, encoded = part.partition(":")
            if not colon or not key_id:
                raise ValueError(f"sealing key number {number} must be written as id:base64")
            if key_id in keys:  # a key that takes the place of another would make what that one sealed unreadable
                raise ValueError(f"sealing key number {number} has the id of another one")
            try:
                keys[key_id] = base64.b64decode(encoded, validate=True)
            except ValueError:
                raise ValueError(f"sealing key number {number} is not base64") from None
        return cls(keys)

    def renew(self, text: str) -> None:
        """From now on the keys of `text`, for whoever holds this ring. Raises ValueError, and then nothing changes."""
        self._ciphers = KeyRing.parse(text)._ciphers

    def seal(self, plaintext: str, *, owner: str) -> str:
        """Seal `plaintext` for `owner`, which `run_owner` names."""
        nonce = os.urandom(_NONCE_BYTES)
        key_id, cipher = next(iter(self._ciphers.items()))
        sealed = cipher.encrypt(nonce, plaintext.encode(), owner.encode())
        return f"{key_id}:{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, owner: str) -> str:
        """The plaintext. Raises SealBroken; its message never holds any part of the secret."""
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
        """The same secret under the sealing key; `sealed` itself if it is so already. Raises SealBroken."""
        plaintext = self.open(sealed, owner=owner)
        return sealed if sealing_key_of(sealed) == self.current else self.seal(plaintext, owner=owner)


def run_owner(namespace: str, run_id: str) -> str:
    """For whom the secret of a run is sealed. With its namespace, since whoever may make runs in another one could
    make one of the same name there, with the sealed text of this one, and have events signed."""
    return f"{namespace}/{run_id}"


def parse_server_key(text: str) -> bytes:
    """One key from base64 of 32 bytes. Raises ValueError, which repeats nothing of the text."""
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError("must be base64 of 32 bytes")
    return key


def derive_key(server_key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that a token of one kind can never serve as another."""
    return hmac.new(server_key, f"checklist-dispatch/{purpose}".encode(), hashlib.sha256).digest()


class ServerKeys:
    """The server keys: the first one signs, all of them verify (rotation: docs/secrets.md).

    What is signed names no key, so a signature is right when any of the keys makes it.
    """

    def __init__(self, *keys: bytes) -> None:
        """Each of 32 bytes."""
        self._keys = _distinct(keys)
        self._derived: dict[str, tuple[bytes, ...]] = {}

    @property
    def current(self) -> bytes:
        """The key that signs."""
        return self._keys[0]

    @property
    def all(self) -> tuple[bytes, ...]:
        return self._keys

    @classmethod
    def parse(cls, text: str) -> "ServerKeys":
        """From base64 of 32 bytes, or several of these with commas between. Raises ValueError, without the text."""
        return cls(*(parse_server_key(part.strip()) for part in text.split(",")))

    def renew(self, text: str) -> None:
        """From now on the keys of `text`, for whoever holds these. Raises ValueError, and then nothing changes."""
        self._keys, self._derived = ServerKeys.parse(text)._keys, {}

    def derived(self, purpose: str) -> tuple[bytes, ...]:
        """The keys for one purpose, the signing one first."""
        found = self._derived.get(purpose)
        if found is None:
            found = self._derived[purpose] = tuple(derive_key(key, purpose) for key in self._keys)
        return found

    def mac(self, purpose: str, message: bytes) -> bytes:
        """HMAC-SHA-256 under the signing key."""
        return hmac.digest(self.derived(purpose)[0], message, "sha256")

    def is_mac(self, purpose: str, message: bytes, mac: bytes) -> bool:
        """Whether any of the keys makes it; how long that takes tells of no byte."""
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
    """The token in the fragment of a run's link (contract section 6): 43 URL-safe characters.

    `organization`: the public id of the one that the run belongs to. The same id of another's run has another token.
    """
    return url_safe(server_keys.mac(_EXECUTOR_LINK, _link(organization, run_id)))


def executor_link(base_url: str, server_keys: ServerKeys, organization: str, run_id: str) -> str:
    """What is sent to the executor: who has it can answer the run (contract section 6).

    `organization`: the public id of the one that the run belongs to. No other function makes a link.
    """
    return f"{base_url}/r/{run_id}#{executor_token(server_keys, organization, run_id)}"


def is_executor_token(server_keys: ServerKeys, organization: str, run_id: str, token: str) -> bool:
    """Whether `token` opens the run `run_id` of `organization`, in constant time."""
    mac = from_url_safe(token)
    return mac is not None and server_keys.is_mac(_EXECUTOR_LINK, _link(organization, run_id), mac)


def is_unbound_token(server_keys: ServerKeys, run_id: str, token: str) -> bool:
    """Whether `token` is one of `run_id` as versions before 0.1.0 made them: for the id alone."""
    mac = from_url_safe(token)
    return mac is not None and server_keys.is_mac(_EXECUTOR_LINK, run_id.encode(), mac)


def _link(organization: str, run_id: str) -> bytes:
    return f"{organization}/{run_id}".encode()


def url_safe(mac: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def from_url_safe(text: str) -> bytes | None:
    """The inverse, for the one form that `url_safe` writes; None for any other text."""
    try:
        mac = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        return None
    return mac if url_safe(mac) == text else None
