"""Object stores by URL: a local folder, S3, Google Cloud Storage or Azure (obstore), for photos and the archive.

Credentials come from the standard sources of each cloud: the environment, or the machine's identity. Those of S3 may
also be settings, in files that are read again when they change.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

SCHEMES: Final = ("file", "s3", "gs", "az")
_ANSWER_WITHIN: Final = timedelta(seconds=30)
_CONNECT_WITHIN: Final = timedelta(seconds=5)
_TRY_FOR: Final = timedelta(seconds=20)


class InvalidStore(ValueError):
    """The URL names no usable store; the text says why and contains no secret."""


class StoreUnavailable(Exception):
    """The store does not answer, or not correctly. The call may be retried."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An entry of a listing."""

    key: str
    size: int
    modified_at: datetime


def default_url(environment: Mapping[str, str]) -> str:
    """Returns the URL of a folder of the user, which API and operator on one machine share by default."""
    home = environment.get("HOME")
    data = environment.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else "/var/lib")
    return (Path(data).absolute() / "checklist-dispatch" / "photos").as_uri()


class Renewed(Protocol):
    """A secret that may change at runtime."""

    @property
    def current(self) -> str: ...


@dataclass(frozen=True, slots=True)
class S3Keys:
    """Credentials for S3."""

    access_key_id: Renewed
    secret_access_key: Renewed

    def __call__(self) -> dict[str, Any]:
        """Returns the credentials for obstore, expiring at once, so that each request asks for them again."""
        return {
            "access_key_id": self.access_key_id.current,
            "secret_access_key": self.secret_access_key.current,
            "expires_at": datetime.now(UTC),
        }


@dataclass(frozen=True, slots=True)
class _Named:
    """A variable of the environment, or the file named by `<name>_FILE`, read at each use."""

    name: str

    @property
    def current(self) -> str:
        file = os.environ.get(f"{self.name}_FILE")
        return Path(file).read_text().strip() if file else os.environ.get(self.name, "").strip()


def _keys_of_the_environment() -> S3Keys | None:
    """For programs without settings: the commands."""
    names = ("CHECKLISTS_S3_ACCESS_KEY_ID", "CHECKLISTS_S3_SECRET_ACCESS_KEY")
    if not all(os.environ.get(name) or os.environ.get(f"{name}_FILE") for name in names):
        return None
    return S3Keys(*map(_Named, names))


def open_store(url: str, keys: S3Keys | None = None) -> tuple[ObjectStore, Path | None]:
    """Opens `file:///folder`, `s3://bucket/prefix`, `gs://...` or `az://...`; also returns the path of a local store.
    `keys` are for S3, by default from the environment. Raises InvalidStore."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise InvalidStore(f"must begin with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidStore("must have no user, password, query or fragment; credentials come from the environment")
    try:
        if parts.scheme == "file":
            folder = _folder(parts.netloc, unquote(parts.path))
            return LocalStore(folder, automatic_cleanup=True, mkdir=True), folder
        provider: Any = (keys or _keys_of_the_environment()) if parts.scheme == "s3" else None
        store = from_url(
            url,
            client_options={
                "timeout": _ANSWER_WITHIN,
                "connect_timeout": _CONNECT_WITHIN,
                # Options given here override this variable of the environment.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true"),
            },
            retry_config={"max_retries": 4, "retry_timeout": _TRY_FOR},
            credential_provider=provider,
        )
    except (BaseError, OSError) as error:
        raise InvalidStore(reason_of(error)) from None
    return store, None


def reason_of(error: Exception) -> str:
    """Returns the first line, without the request that clouds' errors repeat."""
    return str(error).partition("\n")[0][:300]


def _folder(host: str, path: str) -> Path:
    if host not in ("", "localhost") or not path.startswith("/"):
        raise InvalidStore("must name a folder of this machine, as file:///var/lib/photos does")
    return Path(path)
