"""What can be set, by environment variables only; `--help` prints this table.

Everything is read and judged once, at start: a wrong value ends the process with one line that names the variable.
"""

import base64
import binascii
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from checklist_crds.photo_store import default_url
from checklist_crds.sealing import KeyRing
from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.fairness import Limits
from checklist_operator.delivery.schedule import DEFAULT_GAPS, RetrySchedule

T = TypeVar("T")


class InvalidSetting(Exception):
    """A variable is missing or wrong; the message is for the person who starts the operator."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds of the leader election: how long a lease holds, when its holder gives up, how often it is renewed."""

    duration: int = 15
    renew_deadline: int = 10
    retry_period: int = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings. Times are in seconds."""

    namespace: str
    operator_id: str
    key_ring: KeyRing = field(repr=False)
    server_key: bytes | None = field(default=None, repr=False)
    """None: events with photos cannot be sent."""
    base_url: str = "http://127.0.0.1:8080"
    photo_store: str = field(default_factory=lambda: default_url({}))
    photo_sweep_every_s: float = 21_600.0
    photo_orphan_after_s: float = 86_400.0
    watch_namespaces: tuple[str, ...] = ()
    health_host: str = "127.0.0.1"
    health_port: int = 8081
    schedule: RetrySchedule = field(default_factory=RetrySchedule)
    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    limits: Limits = field(default_factory=Limits)
    signature_expires_s: int = 300
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    sweep_every_s: float = 300.0
    revision_grace_s: float = 600.0
    resync_every_s: float = 300.0
    pending_quota_after_s: float = 30.0
    log_level: str = "INFO"

    @property
    def allow_insecure_targets(self) -> bool:
        return self.addresses.allow_insecure

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises InvalidSetting."""
        read = _Reader(environment)
        jitter = read.number("CHECKLISTS_RETRY_JITTER", most=1.0)
        return cls(
            namespace=read.text("CHECKLISTS_NAMESPACE"),
            operator_id=read.text("CHECKLISTS_OPERATOR_ID") or socket.gethostname(),
            key_ring=read.parsed("CHECKLISTS_SEALING_KEYS", _key_ring),
            server_key=read.parsed("CHECKLISTS_SERVER_KEY", _server_key),
            base_url=read.text("CHECKLISTS_BASE_URL").rstrip("/"),
            photo_store=read.text("CHECKLISTS_PHOTO_STORE") or default_url(environment),
            photo_sweep_every_s=read.number("CHECKLISTS_PHOTO_SWEEP_SECONDS", least=0.1),
            photo_orphan_after_s=read.number("CHECKLISTS_PHOTO_ORPHAN_SECONDS"),
            watch_namespaces=read.words("CHECKLISTS_WATCH_NAMESPACES"),
            health_host=read.text("CHECKLISTS_HOST"),
            health_port=read.port("CHECKLISTS_OPERATOR_PORT"),
            schedule=read.parsed(
                "CHECKLISTS_RETRY_GAPS", lambda text: RetrySchedule.parse(text, jitter_fraction=jitter)
            ),
            addresses=AddressPolicy(
                denied=read.parsed("CHECKLISTS_DENIED_ADDRESSES", lambda text: AddressPolicy.parse(denied=text)).denied,
                allowed=read.parsed(
                    "CHECKLISTS_ALLOWED_ADDRESSES", lambda text: AddressPolicy.parse(allowed=text)
                ).allowed,
                allow_insecure=read.switch("CHECKLISTS_ALLOW_INSECURE_TARGETS"),
            ),
            limits=Limits(
                total=read.whole("CHECKLISTS_MAX_DELIVERIES"),
                per_organization=read.whole("CHECKLISTS_MAX_DELIVERIES_PER_ORGANIZATION"),
                per_host=read.whole("CHECKLISTS_MAX_DELIVERIES_PER_HOST"),
            ),
            signature_expires_s=read.whole("CHECKLISTS_SIGNATURE_EXPIRES", least=0),
            sweep_every_s=read.number("CHECKLISTS_SWEEP_SECONDS", least=0.1),
            revision_grace_s=read.number("CHECKLISTS_REVISION_GRACE_SECONDS"),
            resync_every_s=read.number("CHECKLISTS_RESYNC_SECONDS", least=1.0),
            log_level=read.one_of("CHECKLISTS_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR")),
        )


@dataclass(frozen=True, slots=True)
class Variable:
    """A line of the table: name, default (None: must be set), and what it is for."""

    name: str
    default: str | None
    meaning: str


VARIABLES: Final = (
    Variable("CHECKLISTS_NAMESPACE", "checklists", "namespace of the installation; the lease lives there"),
    Variable("CHECKLISTS_WATCH_NAMESPACES", "", "namespaces to serve, separated by commas; empty: all"),
    Variable("CHECKLISTS_OPERATOR_ID", "", "who holds the lease; empty: the host's name"),
    Variable("CHECKLISTS_SEALING_KEYS", None, "keys that open webhook secrets: id:base64 of 32 bytes, ..."),
    Variable("CHECKLISTS_SERVER_KEY", "", "the API's, base64 of 32 bytes: signs the addresses of photos in events"),
    Variable("CHECKLISTS_BASE_URL", "http://127.0.0.1:8080", "the API's public address, which those begin with"),
    Variable("CHECKLISTS_PHOTO_STORE", "", "where photos are kept, as the API is told; empty: a folder of the user's"),
    Variable("CHECKLISTS_PHOTO_SWEEP_SECONDS", "21600", "how often photos that nobody needs are looked for"),
    Variable("CHECKLISTS_PHOTO_ORPHAN_SECONDS", "86400", "how old such a photo must be before the sweep removes it"),
    Variable("CHECKLISTS_HOST", "127.0.0.1", "address of /healthz, /readyz and /metrics"),
    Variable("CHECKLISTS_OPERATOR_PORT", "8081", "their port; 0: none"),
    Variable("CHECKLISTS_RETRY_GAPS", ",".join(f"{gap:g}" for gap in DEFAULT_GAPS), "seconds between the attempts"),
    Variable("CHECKLISTS_RETRY_JITTER", "0.05", "fraction of a gap that may be added to it, at most 15 s"),
    Variable("CHECKLISTS_ALLOW_INSECURE_TARGETS", "0", "1: webhooks to http and private addresses (development)"),
    Variable("CHECKLISTS_DENIED_ADDRESSES", "", "ranges that are never dialled, beside private ones"),
    Variable("CHECKLISTS_ALLOWED_ADDRESSES", "", "exceptions from what is denied"),
    Variable("CHECKLISTS_MAX_DELIVERIES", "512", "attempts in flight"),
    Variable("CHECKLISTS_MAX_DELIVERIES_PER_ORGANIZATION", "64", "the same of one organization"),
    Variable("CHECKLISTS_MAX_DELIVERIES_PER_HOST", "16", "the same to one receiver's host"),
    Variable("CHECKLISTS_SIGNATURE_EXPIRES", "300", "seconds that a signature holds; 0: without end"),
    Variable("CHECKLISTS_SWEEP_SECONDS", "300", "how often retention and unused revisions are looked after"),
    Variable("CHECKLISTS_REVISION_GRACE_SECONDS", "600", "how long a revision must be unused before it goes"),
    Variable("CHECKLISTS_RESYNC_SECONDS", "300", "how often everything unsettled is looked at again"),
    Variable("CHECKLISTS_LOG_LEVEL", "INFO", "DEBUG, INFO, WARNING or ERROR"),
)
_DEFAULTS: Final = {variable.name: variable.default for variable in VARIABLES}


def help_text() -> str:
    """The table for `--help`."""
    lines = ["Settings come from the environment:", ""]
    for variable in VARIABLES:
        default = "required" if variable.default is None else variable.default or "empty"
        lines.append(f"  {variable.name} ({default})\n      {variable.meaning}")
    lines.append("\nThe cluster is that of KUBECONFIG, else of ~/.kube/config, else of the pod's service account.")
    return "\n".join(lines)


def _key_ring(text: str) -> KeyRing:
    try:
        return KeyRing.parse(text)
    except ValueError:  # its text may repeat what was given, and a key given without its id is a key
        raise ValueError("must be id:base64 of 32 bytes, or several of these separated by commas") from None


def _server_key(text: str) -> bytes | None:
    if not text:
        return None
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise ValueError("must be base64 of 32 bytes")
    return key


class _Reader:
    """Reads one variable at a time; every complaint names it, and none repeats a value that may be a key."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str) -> str:
        value = self._environment.get(name, "").strip() or _DEFAULTS[name]
        if value is None:
            raise InvalidSetting(f"{name} must be set")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        return tuple(filter(None, (word.strip() for word in self.text(name).split(","))))

    def parsed(self, name: str, parse: Callable[[str], T]) -> T:
        try:
            return parse(self.text(name))
        except ValueError as error:
            raise InvalidSetting(f"{name}: {error}") from None

    def number(self, name: str, *, least: float = 0.0, most: float = 1e9) -> float:
        try:
            value = float(self.text(name))
        except ValueError:
            value = -1.0
        if not least <= value <= most:
            raise InvalidSetting(f"{name} must be a number from {least:g} to {most:g}")
        return value

    def whole(self, name: str, *, least: int = 1, most: int = 1_000_000) -> int:
        text = self.text(name)
        if not text.isdecimal() or not least <= int(text) <= most:
            raise InvalidSetting(f"{name} must be a whole number from {least} to {most}")
        return int(text)

    def port(self, name: str) -> int:
        return self.whole(name, least=0, most=65_535)

    def switch(self, name: str) -> bool:
        return self.one_of(name, ("0", "1")) == "1"

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in choices:
            raise InvalidSetting(f"{name} must be one of {', '.join(choices)}")
        return value


def from_process_environment() -> Settings:
    """Raises InvalidSetting."""
    return Settings.from_environment(os.environ)
