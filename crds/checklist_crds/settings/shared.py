"""Settings that API and operator have in common."""

import re
from collections.abc import Collection, Iterable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import Field

from ..limits.organization_limits import Limits
from ..platform.object_store import S3Keys, default_url
from ..resources.internal_hosts import InternalHosts
from ..resources.webhook_url import InsecureTargets
from ..secrets.sealing import KeyRing, ServerKeys
from .declaring import Group, setting
from .forms import LIST_SCHEMA, LogLevel, Switch, Text, Whole, Words
from .names import SUFFIX
from .reading import ProgramSettings
from .renewable import SecretText

SealingKeys = Annotated[KeyRing, Text(KeyRing.parse)]
S3Secret = Annotated[SecretText, Text(SecretText.ascii)]
SigningKeys = Annotated[ServerKeys, Text(ServerKeys.parse)]

BASE_URL_SCHEMA = {"type": "string", "pattern": "^https?://[^ /?#@]+(/[A-Za-z0-9._~-]+)*/?$"}
SERVER_KEY = (
    "server key, base64 of 32 random bytes: signs links, photo URLs and idempotency keys; "
    "comma-separated during a rotation, the first one signs"
)
BASE_URL = "public URL of the service, the beginning of links and photo URLs; can have a path that a proxy removes"
NAMESPACE = (
    "namespace of the installation: objects of organizations without a namespace of their own, "
    "sessions, the leader's lease"
)


def _otlp_endpoint(text: str) -> str:
    """Checks an endpoint without a path, which OTLP defines. Raises ValueError."""
    if re.fullmatch(r"https?://[^/?#@\s]+/?", text) is None:
        raise ValueError("must be http(s)://host:port")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise ValueError("needs OpenTelemetry: pip install 'checklist-dispatch[otel]'")
    return text.rstrip("/")


class LimitSettings(Group):
    """Limits of each organization. Its own object may have others (`spec.limits`)."""

    prefix = "CHECKLISTS_MAX_"

    templates: Whole = setting(Limits().templates, "templates of an organization", ge=0, le=100_000)
    template_bytes: Whole = setting(
        Limits().template_bytes,
        "total size of an organization's templates, as compact JSON",
        unit="bytes",
        ge=0,
        le=2**40,
    )
    versions: Whole = setting(Limits().versions, "kept versions of one template", ge=1, le=100_000)
    api_keys: Whole = setting(Limits().api_keys, "API keys of an organization that are not revoked", ge=0, le=100_000)
    members: Whole = setting(Limits().members, "members of an organization", ge=0, le=100_000)
    accounts: Whole = setting(
        Limits().accounts, "local accounts that an organization's admins created", ge=0, le=100_000
    )
    idempotency_keys: Whole = setting(
        Limits().idempotency_keys,
        "templates and replays that an organization creates with an Idempotency-Key in 24 hours",
        ge=0,
        le=1_000_000,
    )
    run_bytes: Whole = setting(
        Limits().run_bytes,
        "photos and drawings ever stored for one run, including replaced and deleted ones",
        unit="bytes",
        ge=0,
        le=2**50,
    )
    audit_entries: Whole = setting(
        Limits().audit_entries,
        "kept audit entries of an organization; the operator removes older ones",
        ge=0,
        le=10_000_000,
    )

    @property
    def limits(self) -> Limits:
        return Limits(**self.model_dump())


class SharedSettings(ProgramSettings):
    """Settings of both programs. (The server key, the namespace and the base URL are too, but with other defaults.)"""

    sealing: SealingKeys = setting(
        ...,
        "sealing keys for webhook secrets and passwords, id:base64 of 32 random bytes, comma-separated; "
        "the first one seals, all of them open",
        variable="SEALING_KEYS",
        secret=True,
    )
    watch_namespaces: Words = setting(
        (),
        "namespaces to serve, comma-separated, including the installation's own; the same for API and operator",
        schema=LIST_SCHEMA,
        default_text="all",
    )
    host: str = setting("127.0.0.1", "address to listen on (operator: for health and metrics)")
    photo_store: str = setting(
        None,
        "photo store: file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix; "
        "the same for API and operator",
        default_text="a folder of the user's",
        default_from=lambda _: default_url({}),
    )
    archive_store: str = setting(
        None,
        "archive of runs past their retention: a URL like that of the photo store, whose default is "
        "`archive/` in it; the same for API and operator",
        default_text="the photo store",
        default_from=lambda fields: fields.get("photo_store"),
    )
    s3_access_key_id: S3Secret | None = setting(
        None,
        "access key id for S3; without it AWS_ACCESS_KEY_ID, or the machine's identity",
        secret=True,
    )
    s3_secret_access_key: S3Secret | None = setting(None, "secret access key of that id", secret=True)
    allow_insecure_targets: Switch = setting(
        False, "1 allows webhooks to http and to private addresses, for development; logged at start"
    )
    internal_receivers: Annotated[InternalHosts, Text(InternalHosts.parse)] = setting(
        InternalHosts(),
        "hosts of receivers inside your own network or cluster, comma-separated, `*.` for all names below"
        " one; webhooks to these hosts may use http and private addresses",
        schema=LIST_SCHEMA,
        default_text="none",
    )
    otlp_endpoint: Annotated[str, Text(_otlp_endpoint)] | None = setting(
        None,
        "http(s)://host:port of an OpenTelemetry collector for traces (OTLP over HTTP); needs the package extra otel",
        schema={"type": "string", "pattern": "^https?://[^/?#@\\s]+/?$"},
        default_text="no traces",
    )
    organization_limits: LimitSettings = Field(default_factory=LimitSettings)
    log_level: LogLevel = setting("INFO", "log level; no level shows a secret")

    @property
    def insecure_targets(self) -> InsecureTargets:
        """Receivers for which http and internal hosts are allowed."""
        return self.allow_insecure_targets or self.internal_receivers

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        namespace = getattr(self, "namespace", None)
        if self.watch_namespaces and namespace not in self.watch_namespaces:
            yield f"CHECKLISTS_WATCH_NAMESPACES leaves out {namespace}, which is CHECKLISTS_NAMESPACE"
        pair = {"CHECKLISTS_S3_ACCESS_KEY_ID", "CHECKLISTS_S3_SECRET_ACCESS_KEY"}
        found = sorted(name for name in given if name.removesuffix(SUFFIX) in pair)
        if (self.s3_access_key_id is None) is not (self.s3_secret_access_key is None):
            (missing,) = pair - {name.removesuffix(SUFFIX) for name in found}
            yield f"{found[0]} is set, but {missing} is not"
        elif found and not any(url.startswith("s3://") for url in (self.photo_store, self.archive_store)):
            yield f"{found[0]} is set, but no store begins with s3://"

    @property
    def s3_keys(self) -> S3Keys | None:
        """For stores in S3; None: the standard sources."""
        if self.s3_access_key_id is None or self.s3_secret_access_key is None:
            return None
        return S3Keys(self.s3_access_key_id, self.s3_secret_access_key)

    @classmethod
    def ambient(cls, environment: Mapping[str, str]) -> Mapping[str, Any]:
        return {"photo_store": default_url(environment)}
