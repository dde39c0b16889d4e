"""The settings that API and operator have in common."""

import re
from collections.abc import Collection, Iterable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import Field

from ..limits.caps import Limits
from ..platform.object_store import S3Keys, default_url
from ..resources.internal_hosts import InternalHosts
from ..resources.webhook_url import Openness
from ..secrets.sealing import KeyRing, ServerKeys
from .declaring import Group, setting
from .forms import LIST_SCHEMA, LogLevel, Switch, Text, Whole, Words
from .held import SecretText
from .names import SUFFIX
from .reading import ProgramSettings

SealingKeys = Annotated[KeyRing, Text(KeyRing.parse)]
S3Secret = Annotated[SecretText, Text(SecretText.ascii)]
SigningKeys = Annotated[ServerKeys, Text(ServerKeys.parse)]

BASE_URL_SCHEMA = {"type": "string", "pattern": "^https?://[^ /?#@]+(/[A-Za-z0-9._~-]+)*/?$"}
SERVER_KEY = (
    "base64 of 32 random bytes: signs links, addresses of photos and idempotent names; several with commas between "
    "while it is replaced, the first one signs"
)
BASE_URL = (
    "public address of the service, which links and addresses of photos begin with; perhaps with a path that a proxy "
    "in front takes off"
)
NAMESPACE = "namespace of the installation: objects that name none of their own, sessions, the leader's lease"


def _otlp_endpoint(text: str) -> str:
    """Without the path, which OTLP has fixed. Raises ValueError."""
    if re.fullmatch(r"https?://[^/?#@\s]+/?", text) is None:
        raise ValueError("must be http(s)://host:port")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise ValueError("needs OpenTelemetry: pip install 'checklist-dispatch[otel]'")
    return text.rstrip("/")


class LimitSettings(Group):
    """Caps of each organization. Its own object may have others (`spec.limits`)."""

    prefix = "CHECKLISTS_MAX_"

    templates: Whole = setting(Limits().templates, "templates of an organization", ge=0, le=100_000)
    template_bytes: Whole = setting(
        Limits().template_bytes,
        "the templates of an organization together, as compact JSON",
        unit="bytes",
        ge=0,
        le=2**40,
    )
    versions: Whole = setting(Limits().versions, "earlier versions that are kept of one template", ge=1, le=100_000)
    api_keys: Whole = setting(Limits().api_keys, "API keys of an organization that are not revoked", ge=0, le=100_000)
    members: Whole = setting(Limits().members, "members of an organization", ge=0, le=100_000)
    accounts: Whole = setting(
        Limits().accounts, "local accounts that the admins of an organization made", ge=0, le=100_000
    )
    idempotency_keys: Whole = setting(
        Limits().idempotency_keys,
        "templates and replays that an organization makes with an Idempotency-Key in 24 hours",
        ge=0,
        le=1_000_000,
    )
    run_bytes: Whole = setting(
        Limits().run_bytes,
        "photos and drawings ever stored for one run, those that were replaced or taken back included",
        unit="bytes",
        ge=0,
        le=2**50,
    )
    audit_entries: Whole = setting(
        Limits().audit_entries,
        "audit entries that are kept of an organization; the operator removes the oldest beyond",
        ge=0,
        le=10_000_000,
    )

    @property
    def limits(self) -> Limits:
        return Limits(**self.model_dump())


class SharedSettings(ProgramSettings):
    """What both programs are told. (The server key, the namespace and the base URL, too; but what
    they are when nobody sets them differs.)"""

    sealing: SealingKeys = setting(
        ...,
        "id:base64 of 32 random bytes, with commas between: seal webhook secrets and passwords; the first one seals, "
        "all of them open",
        variable="SEALING_KEYS",
        secret=True,
    )
    watch_namespaces: Words = setting(
        (),
        "namespaces to serve, with commas between, the installation's own among them; API and operator need the same",
        schema=LIST_SCHEMA,
        default_text="all",
    )
    host: str = setting("127.0.0.1", "address to listen on: the API's requests; the operator's health and metrics")
    photo_store: str = setting(
        None,
        "where photos are kept: file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix; API "
        "and operator need the same",
        default_text="a folder of the user's",
        default_from=lambda _: default_url({}),
    )
    archive_store: str = setting(
        None,
        "where runs go that are older than their organization keeps them in the cluster: a URL as that of the photo "
        "store, in which they are under `archive/`; API and operator need the same",
        default_text="the photo store",
        default_from=lambda fields: fields.get("photo_store"),
    )
    s3_access_key_id: S3Secret | None = setting(
        None,
        "key id for stores in S3; none: AWS_ACCESS_KEY_ID, or the machine's identity",
        secret=True,
    )
    s3_secret_access_key: S3Secret | None = setting(None, "the secret that belongs to that key id", secret=True)
    allow_insecure_targets: Switch = setting(
        False, "1 allows webhooks to http and to private addresses: for development, and said at the start"
    )
    internal_receivers: Annotated[InternalHosts, Text(InternalHosts.parse)] = setting(
        InternalHosts(),
        "hosts of receivers inside your own network or cluster, with commas between, `*.` for all below: webhooks to "
        "these alone may go to http and to private addresses",
        schema=LIST_SCHEMA,
        default_text="none",
    )
    otlp_endpoint: Annotated[str, Text(_otlp_endpoint)] | None = setting(
        None,
        "http(s)://host:port of an OpenTelemetry collector for traces (OTLP over HTTP); needs the extra otel",
        schema={"type": "string", "pattern": "^https?://[^/?#@\\s]+/?$"},
        default_text="no traces",
    )
    caps: LimitSettings = Field(default_factory=LimitSettings)
    log_level: LogLevel = setting("INFO", "what is logged; no level shows a secret")

    @property
    def openness(self) -> Openness:
        """For which receivers http and internal hosts are allowed."""
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
        """For stores in S3; None: what their own tools find."""
        if self.s3_access_key_id is None or self.s3_secret_access_key is None:
            return None
        return S3Keys(self.s3_access_key_id, self.s3_secret_access_key)

    @classmethod
    def ambient(cls, environment: Mapping[str, str]) -> Mapping[str, Any]:
        return {"photo_store": default_url(environment)}
