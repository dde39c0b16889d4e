"""Object stores by their URL: a local folder, S3, Google Cloud Storage or Azure (obstore).

What photos and the archive have in common. Credentials come from where each cloud's own tools look for them: the
environment, or the machine's identity. Those of S3 may be settings as well, in files that are read again.
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
    """The URL names no store that can be used; the text says why and repeats no secret."""


class StoreUnavailable(Exception):
    """The store does not answer, or not as it should. What was asked for may be tried again."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A line of a listing."""

    key: str
    size: int
    modified_at: datetime


def default_url(environment: Mapping[str, str]) -> str:
    """A folder of the user's, for a service that was told of no store: API and operator of one machine agree on it."""
    home = environment.get("HOME")
    data = environment.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else "/var/lib")
    return (Path(data).absolute() / "checklist-dispatch" / "photos").as_uri()


class Renewed(Protocol):
    """A secret that may change while the program runs."""

    @property
    def current(self) -> str: ...


@dataclass(frozen=True, slots=True)
class S3Keys:
    """What proves to S3 who we are."""

    access_key_id: Renewed
    secret_access_key: Renewed

    def __call__(self) -> dict[str, Any]:
        """As obstore asks for them: what is over at once is asked for again, at the next request."""
        return {
            "access_key_id": self.access_key_id.current,
            "secret_access_key": self.secret_access_key.current,
            "expires_at": datetime.now(UTC),
        }


@dataclass(frozen=True, slots=True)
class _Named:
    """What a variable of the environment holds, or the file that `<name>_FILE` names: read whenever it is asked for."""

    name: str

    @property
    def current(self) -> str:
        file = os.environ.get(f"{self.name}_FILE")
        return Path(file).read_text().strip() if file else os.environ.get(self.name, "").strip()


def _keys_of_the_environment() -> S3Keys | None:
    """For programs without a model of settings, beside API and operator: the commands."""
    names = ("CHECKLISTS_S3_ACCESS_KEY_ID", "CHECKLISTS_S3_SECRET_ACCESS_KEY")
    if not all(os.environ.get(name) or os.environ.get(f"{name}_FILE") for name in names):
        return None
    return S3Keys(*map(_Named, names))


def open_store(url: str, keys: S3Keys | None = None) -> tuple[ObjectStore, Path | None]:
    """From `file:///folder`, `s3://bucket/prefix`, `gs://...` or `az://...`; and where a local store is. `keys` are for
    S3 alone, by default those that the environment names. Raises InvalidStore."""
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
                # Options given here hide this one of the environment.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true"),
            },
            retry_config={"max_retries": 4, "retry_timeout": _TRY_FOR},
            credential_provider=provider,
        )
    except (BaseError, OSError) as error:
        raise InvalidStore(reason_of(error)) from None
    return store, None


def reason_of(error: Exception) -> str:
    """The first line, without the request that clouds' errors repeat."""
    return str(error).partition("\n")[0][:300]


def _folder(host: str, path: str) -> Path:
    if host not in ("", "localhost") or not path.startswith("/"):
        raise InvalidStore("must name a folder of this machine, as file:///var/lib/photos does")
    return Path(path)
