"""Signed URLs of photos: `{base_url}/v1/photos/{run_id}/{photo_id}?o=<organization id>&e=<expiry>&s=<signature>`, with
the expiry in Unix seconds.

The holder of a URL may fetch that one image until it expires; only the server's key can sign one. URLs are signed at
every read and every attempt of a delivery (contract section 4).
"""

from datetime import timedelta
from typing import Final, Protocol

from ..resources.run import PhotoRef
from ..secrets.sealing import ServerKeys, from_url_safe, url_safe
from ..times import Clock
from .keys import PhotoFolder, parts_of, thumbnail_key

IN_ANSWERS: Final = timedelta(hours=1)
IN_EVENTS: Final = timedelta(days=7)
_PATH: Final = "/v1/photos"
_PURPOSE: Final = "photo-url"


class PhotoUrl(Protocol):
    """Signs the URL of a photo or its thumbnail."""

    def __call__(self, photo: PhotoRef, *, thumbnail: bool = False) -> str: ...


class SignedUrls:
    """Signs and verifies URLs."""

    def __init__(self, server_keys: ServerKeys, base_url: str, clock: Clock) -> None:
        self._keys = server_keys
        self._base_url = base_url
        self._clock = clock

    def for_(self, lifetime: timedelta) -> PhotoUrl:
        """Returns a function that signs URLs valid for `lifetime` from each call."""

        def photo_url(photo: PhotoRef, *, thumbnail: bool = False) -> str:
            return self.url(photo.key, lifetime, thumbnail=thumbnail)

        return photo_url

    def url(self, key: str, lifetime: timedelta, *, thumbnail: bool = False) -> str:
        """Returns the URL of the photo at `key`. Raises ValueError for another key."""
        parts = parts_of(key)
        if parts is None:
            raise ValueError(f"no key of a photo: {key!r}")
        folder, photo = parts
        expires = int((self._clock() + lifetime).timestamp())
        signature = url_safe(self._keys.mac(_PURPOSE, _signed(thumbnail_key(key) if thumbnail else key, expires)))
        path = f"{_PATH}/{folder.run_id}/{photo}{'/thumbnail' if thumbnail else ''}"
        owner = f"o={folder.organization}&" if folder.organization else ""
        return f"{self._base_url}{path}?{owner}e={expires}&s={signature}"

    def seconds_left(
        self, folder: PhotoFolder, photo: str, expires: str, signature: str, *, thumbnail: bool
    ) -> int | None:
        """Returns how long the URL is still valid, in whole seconds; None if it was not signed here or has expired."""
        if not (expires.isascii() and expires.isdigit() and len(expires) <= 12 and signature.isascii()):
            return None
        key = folder.key(photo)
        if parts_of(key) is None:
            return None
        mac = from_url_safe(signature)
        signed = _signed(thumbnail_key(key) if thumbnail else key, int(expires))
        left = int(expires) - int(self._clock().timestamp())
        return left if mac is not None and self._keys.is_mac(_PURPOSE, signed, mac) and left > 0 else None


def _signed(key: str, expires: int) -> bytes:
    return f"{key}\n{expires}".encode()
