"""What the API is told by its environment; one clear line for a setting that cannot be used."""

import base64
import binascii
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from checklist_crds.photo_store import default_url
from checklist_crds.sealing import KeyRing

from .app_links import AppLinks
from .rate_limit import DEFAULT_RATE, DEFAULT_RUN_RATE, Rate

_BASE_URL: Final = re.compile(r"https?://[^\s/?#@]+(/[A-Za-z0-9._~-]+)*/?")
DESCRIPTION: Final = """\
CHECKLISTS_NAMESPACE              namespace of the installation (required)
CHECKLISTS_SERVER_KEY             base64 of 32 bytes: signs run links and idempotent ids (required)
CHECKLISTS_SEALING_KEYS           id:base64 of 32 bytes, comma-separated, the sealing one first (required)
CHECKLISTS_HOST                   address to listen on (127.0.0.1)
CHECKLISTS_PORT                   port to listen on (8080)
CHECKLISTS_BASE_URL               the service's public address, without a path (http://HOST:PORT)
CHECKLISTS_RATE_LIMIT             of one API key: "100/s burst 200" (the default), or "off"
CHECKLISTS_ADDRESS_RATE_LIMIT     of one client address where no key is needed (as CHECKLISTS_RATE_LIMIT)
CHECKLISTS_RUN_RATE_LIMIT         of one run's executor routes ("50/s burst 300"; off where CHECKLISTS_RATE_LIMIT is)
CHECKLISTS_PHOTO_STORE            where photos are kept: file:///folder, s3://bucket/prefix, gs://... or az://...
                                  (a folder of the user's; the operator must be told the same)
CHECKLISTS_UPLOAD_FOLDER          where uploads are while they are worked on (the system's folder for such files)
CHECKLISTS_PHOTO_WORKERS          processes that decode uploaded photos (1)
CHECKLISTS_TRUSTED_PROXIES        number of proxies in front that append to X-Forwarded-For (0: not trusted)
CHECKLISTS_ALLOW_INSECURE_TARGETS 1 allows webhooks to http and to internal hosts: development only (0)
CHECKLISTS_APPLE_APPS             apps that run links open on Apple's systems: TEAMID.bundle.id, comma-separated
CHECKLISTS_APPLE_STORE_ID         number of the app in Apple's store, which the page then offers
CHECKLISTS_ANDROID_APPS           `package SHA256-FINGERPRINT` of apps that run links open on Android, comma-separated
CHECKLISTS_ACCESS_LOG             1 logs every request (0)
KUBECONFIG                        where the Kubernetes API is (the pod's service account, or ~/.kube/config)"""


class InvalidSetting(Exception):
    """A setting is missing or cannot be used. The message is one line, and never holds a secret."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one API process."""

    namespace: str
    server_key: bytes = field(repr=False)
    sealing: KeyRing = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8080
    base_url: str = "http://127.0.0.1:8080"
    rate: Rate | None = DEFAULT_RATE
    """None: requests are not limited."""
    address_rate: Rate | None = DEFAULT_RATE
    run_rate: Rate | None = DEFAULT_RUN_RATE
    photo_store: str = field(default_factory=lambda: default_url({}))
    upload_folder: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    photo_workers: int = 1
    trusted_proxies: int = 0
    allow_insecure_targets: bool = False
    access_log: bool = False
    app_links: AppLinks = field(default_factory=AppLinks)

    @property
    def path_prefix(self) -> str:
        """What callers write before `/v1`: `/checklists` behind a proxy that takes it off, else nothing."""
        return urlsplit(self.base_url).path

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Settings":
        """Raises InvalidSetting."""
        host = env.get("CHECKLISTS_HOST") or "127.0.0.1"
        port = _integer(env, "CHECKLISTS_PORT", 8080, 1, 65_535)
        rate = _rate(env, "CHECKLISTS_RATE_LIMIT", DEFAULT_RATE)
        return cls(
            namespace=_required(env, "CHECKLISTS_NAMESPACE"),
            server_key=_server_key(_required(env, "CHECKLISTS_SERVER_KEY")),
            sealing=_sealing_keys(_required(env, "CHECKLISTS_SEALING_KEYS")),
            host=host,
            port=port,
            base_url=_base_url(env.get("CHECKLISTS_BASE_URL") or f"http://{host}:{port}"),
            rate=rate,
            address_rate=_rate(env, "CHECKLISTS_ADDRESS_RATE_LIMIT", rate),
            run_rate=_rate(env, "CHECKLISTS_RUN_RATE_LIMIT", None if rate is None else DEFAULT_RUN_RATE),
            photo_store=env.get("CHECKLISTS_PHOTO_STORE", "").strip() or default_url(env),
            upload_folder=Path(env.get("CHECKLISTS_UPLOAD_FOLDER", "").strip() or tempfile.gettempdir()),
            photo_workers=_integer(env, "CHECKLISTS_PHOTO_WORKERS", 1, 1, 64),
            trusted_proxies=_integer(env, "CHECKLISTS_TRUSTED_PROXIES", 0, 0, 16),
            allow_insecure_targets=_flag(env, "CHECKLISTS_ALLOW_INSECURE_TARGETS"),
            access_log=_flag(env, "CHECKLISTS_ACCESS_LOG"),
            app_links=_app_links(env),
        )


def _required(env: Mapping[str, str], name: str) -> str:
    value = env.get(name, "").strip()
    if not value:
        raise InvalidSetting(f"{name} is not set")
    return value


def _server_key(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise InvalidSetting("CHECKLISTS_SERVER_KEY must be base64 of 32 bytes")
    return key


def _sealing_keys(text: str) -> KeyRing:
    try:
        return KeyRing.parse(text)
    except ValueError as error:
        raise InvalidSetting(f"CHECKLISTS_SEALING_KEYS: {error}") from None


def _integer(env: Mapping[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    text = env.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit()) or not lowest <= int(text) <= highest:
        raise InvalidSetting(f"{name} must be a number from {lowest} to {highest}, not {text!r}")
    return int(text)


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").strip().lower()
    if text in ("", "0", "false", "no", "off"):
        return False
    if text in ("1", "true", "yes", "on"):
        return True
    raise InvalidSetting(f"{name} must be 1 or 0, not {text!r}")


def _rate(env: Mapping[str, str], name: str, default: Rate | None) -> Rate | None:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        return Rate.parse(text)
    except ValueError as error:
        raise InvalidSetting(f"{name}: {error}") from None


def _app_links(env: Mapping[str, str]) -> AppLinks:
    try:
        return AppLinks.from_environment(env)
    except ValueError as error:
        raise InvalidSetting(str(error)) from None


def _base_url(text: str) -> str:
    """Scheme, host, and the prefix that a proxy in front takes off, if there is one; no slash at the end."""
    if _BASE_URL.fullmatch(text) is None:
        raise InvalidSetting(f"CHECKLISTS_BASE_URL must be http(s)://host, perhaps with a path, not {text!r}")
    return text.rstrip("/")
