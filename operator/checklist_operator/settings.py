"""Settings of the operator from its environment (docs/settings.md); `--help` prints the same.

They are read and validated once, at start; secrets and certificates from files are read again when these change
(`checklist_crds.settings.rotation`).
"""

import socket
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, Final

from checklist_crds.secrets.sealing import executor_link
from checklist_crds.settings.declaring import setting
from checklist_crds.settings.forms import LIST_SCHEMA, BaseUrl, Number, Switch, Text, Whole
from checklist_crds.settings.reading import InvalidSetting, read
from checklist_crds.settings.renewable import Certificates
from checklist_crds.settings.shared import BASE_URL, BASE_URL_SCHEMA, NAMESPACE, SERVER_KEY, SharedSettings, SigningKeys
from checklist_crds.settings.table import help_text as table
from checklist_operator.attempts.schedule import DEFAULT_GAPS, RetrySchedule
from checklist_operator.runtime.leader import LeaseTimes
from checklist_operator.transport.addresses import AddressPolicy, Network
from checklist_operator.transport.fairness import PermitLimits
from checklist_operator.transport.resolving import parse_servers

__all__ = ["InvalidSetting", "LeaseTimes", "Settings", "help_text"]

_CLUSTER: Final = "The cluster is that of KUBECONFIG, else of ~/.kube/config, else of the pod's service account."


def _ranges(text: str) -> tuple[Network, ...]:
    return AddressPolicy.parse(denied=text).denied


def _gaps(text: str) -> tuple[float, float, float, float]:
    return RetrySchedule.parse(text).gaps


Ranges = Annotated[tuple[Network, ...], Text(_ranges)]
Gaps = Annotated[tuple[float, float, float, float], Text(_gaps)]


class Settings(SharedSettings):
    """The operator's settings. Times are in seconds."""

    title = "Operator"

    namespace: str = setting("checklists", NAMESPACE)
    server_key: SigningKeys = setting(..., SERVER_KEY, secret=True)
    base_url: BaseUrl = setting("http://127.0.0.1:8080", BASE_URL, schema=BASE_URL_SCHEMA)
    operator_id: str = setting(
        None,
        "identity in the leader's lease",
        default_text="the host's name",
        default_from=lambda _: socket.gethostname(),
    )
    health_port: Whole = setting(
        8081,
        "port of the operator's /healthz, /readyz and /metrics; 0 disables them",
        variable="OPERATOR_PORT",
        ge=0,
        le=65_535,
    )
    retry_gaps: Gaps = setting(
        DEFAULT_GAPS,
        "the four gaps between the five attempts of a delivery, comma-separated",
        unit="seconds",
        schema={"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
    )
    retry_jitter: Number = setting(0.05, "fraction of a gap by which it can be longer, at most 15 s", ge=0, le=1)
    denied_addresses: Ranges = setting(
        (),
        "denied address ranges, comma-separated, in addition to private ones: those of your pods, services and nodes",
        schema=LIST_SCHEMA,
    )
    allowed_addresses: Ranges = setting(
        (), "allowed exceptions from denied address ranges, comma-separated", schema=LIST_SCHEMA
    )
    name_servers: Annotated[tuple[str, ...], Text(parse_servers)] = setting(
        (),
        "name servers for receivers' names: address[:port], comma-separated",
        variable="DNS_SERVERS",
        schema=LIST_SCHEMA,
        default_text="the system's",
    )
    trusted: Annotated[Certificates, Text(Certificates)] | None = setting(
        None,
        "file with CA certificates (PEM) that are trusted for receivers, in addition to the well-known ones",
        variable="CA_FILE",
        from_file=True,
    )
    max_deliveries: Whole = setting(512, "attempts in flight", ge=1, le=1_000_000)
    max_deliveries_per_organization: Whole = setting(64, "attempts in flight per organization", ge=1, le=1_000_000)
    max_deliveries_per_host: Whole = setting(16, "attempts in flight per receiver's host", ge=1, le=1_000_000)
    archive: Switch = setting(
        True,
        "0 archives nothing: runs past their retention stay in the cluster, unless their organization "
        "deletes them (retention.archive: false). For stores that are deleted with their pod",
    )
    claims_per_s: Whole = setting(
        32,
        "retries per second that are claimed one by one; above it, one read of the lease claims all that wait",
        variable="CLAIMS_PER_SECOND",
        ge=0,
        le=1_000_000,
    )
    signature_expires_s: Whole = setting(
        300,
        "how long a delivery's signature is valid; 0: no expiry",
        variable="SIGNATURE_EXPIRES",
        unit="seconds",
        ge=0,
        le=1_000_000,
    )
    photo_sweep_every_s: Number = setting(
        21_600.0,
        "interval of the sweep that deletes unused photos",
        variable="PHOTO_SWEEP_SECONDS",
        unit="seconds",
        ge=0.1,
        le=1e9,
    )
    photo_orphan_after_s: Number = setting(
        86_400.0,
        "minimum age of an unused photo before the sweep deletes it",
        variable="PHOTO_ORPHAN_SECONDS",
        unit="seconds",
        ge=0,
        le=1e9,
    )
    sweep_every_s: Number = setting(
        300.0,
        "interval of sweeps for retention, ended sessions, expired idempotency records and unused revisions",
        variable="SWEEP_SECONDS",
        unit="seconds",
        ge=0.1,
        le=1e9,
    )
    revision_grace_s: Number = setting(
        600.0,
        "how long a template revision must be unused before it is deleted",
        variable="REVISION_GRACE_SECONDS",
        unit="seconds",
        ge=0,
        le=1e9,
    )
    sweep_link_secrets: Switch = setting(
        False,
        "1 deletes Secrets with the link of a deleted or finished run, at start and at each sweep; needs permission to "
        "list Secrets. For clusters without a garbage collector",
    )
    resync_every_s: Number = setting(
        300.0,
        "interval at which everything unsettled is reconciled again",
        variable="RESYNC_SECONDS",
        unit="seconds",
        ge=1,
        le=1e9,
    )

    cluster_addresses: tuple[Network, ...] = ()
    """Addresses of the Kubernetes API, from the pod's environment; some clusters have public ones. Never dialled."""
    lease: LeaseTimes = LeaseTimes()
    pending_quota_after_s: float = 30.0

    @property
    def addresses(self) -> AddressPolicy:
        return AddressPolicy(
            denied=self.denied_addresses + self.cluster_addresses,
            allowed=self.allowed_addresses,
            allow_insecure=self.allow_insecure_targets,
            internal=self.internal_receivers,
            never=self.cluster_addresses,
        )

    @property
    def schedule(self) -> RetrySchedule:
        return RetrySchedule(self.retry_gaps, jitter_fraction=self.retry_jitter)

    @property
    def limits(self) -> PermitLimits:
        return PermitLimits(
            total=self.max_deliveries,
            per_organization=self.max_deliveries_per_organization,
            per_host=self.max_deliveries_per_host,
        )

    def run_link(self, organization: str, run_id: str) -> str:
        """Return the link for the executor. `organization`: public id of the run's organization."""
        return executor_link(self.base_url, self.server_key, organization, run_id)

    @classmethod
    def ambient(cls, environment: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            own = _ranges(environment.get("KUBERNETES_SERVICE_HOST", "").strip("[]"))
        except ValueError:  # a name, so not a pod's environment
            own = ()
        return {**super().ambient(environment), "cluster_addresses": own}

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        yield from super().contradictions(given)
        for allowed in self.allowed_addresses:
            for denied in self.denied_addresses:
                if allowed.version == denied.version and denied.subnet_of(allowed):  # type: ignore[arg-type]
                    yield f"CHECKLISTS_ALLOWED_ADDRESSES has {allowed}, which is all of the {denied} that are denied"
        for name in ("CHECKLISTS_MAX_DELIVERIES_PER_ORGANIZATION", "CHECKLISTS_MAX_DELIVERIES_PER_HOST"):
            most = getattr(self, name.removeprefix("CHECKLISTS_").lower())
            if name in given and most > self.max_deliveries:
                yield f"{name} is {most}, but CHECKLISTS_MAX_DELIVERIES is {self.max_deliveries}: it cannot be more"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises InvalidSetting."""
        return read(cls, environment)


def help_text() -> str:
    """Returns the table for `--help`."""
    return table(Settings, _CLUSTER)
