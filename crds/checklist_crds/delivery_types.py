"""WebhookDelivery: an event whose first attempt failed, until it is delivered or given up (delivery profile)."""

from enum import StrEnum

from pydantic import Field

from .event_names import EventName
from .resource_types import ConditionsField, KubeModel, OrganizationRef, StatusCondition
from .run_types import DeliveryPhase, ObjectNameRef
from .times import Timestamp

MAX_ATTEMPTS = 5
MAX_PAYLOAD = 1024 * 1024


class OutcomeClass(StrEnum):
    """`success` is a final status 200..299 within the time limit; every other class is a failed attempt.

    Which one is decided by how far the attempt came: no address (`dns`), none that may be dialled
    (`blocked_address`), no TCP connection (`connect`), no TLS session (`tls`), no valid HTTP answer (`protocol`), an
    answer that is not 2xx (`http_*`). `timeout` is the lack of progress at any of these stages.
    """

    SUCCESS = "success"
    HTTP_3XX = "http_3xx"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    TIMEOUT = "timeout"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    BLOCKED_ADDRESS = "blocked_address"
    PROTOCOL = "protocol"


class WebhookDeliverySpec(KubeModel):
    """The event and where it goes; immutable."""

    organization_ref: OrganizationRef = Field(description="The organization.")
    run_ref: ObjectNameRef = Field(description="The run, whose webhook holds the signing secret.")
    event_id: str = Field(max_length=64, description="evt-<uuid>, the same on every attempt.")
    event: EventName = Field(description="Kind of the event.")
    seq: int = Field(ge=1, description="Number of the event in its run.")
    ts: Timestamp = Field(description="When the event happened.")
    url: str = Field(max_length=2048, description="The endpoint, in canonical form.")
    payload: str = Field(
        max_length=MAX_PAYLOAD, description="The envelope as JSON text, without delivery_attempt and thumbnails."
    )


class Attempt(KubeModel):
    """One attempt, as it ended."""

    number: int = Field(ge=1, le=5, description="1 to 5.")
    started_at: Timestamp = Field(description="When it started.")
    duration_ms: int = Field(ge=0, description="How long it took, in milliseconds.")
    outcome: OutcomeClass = Field(description="success, or the class of the failure.")
    http_status: int | None = Field(default=None, ge=0, le=999, description="Status of the answer, if there was one.")
    manual: bool = Field(default=False, description="True for a replay.")
    next_attempt_at: Timestamp | None = Field(default=None, description="When the next one was due then.")


class Claim(KubeModel):
    """Who is sending which attempt: recorded before the first byte leaves."""

    attempt: int = Field(ge=1, le=5, description="Number of the attempt.")
    holder: str = Field(max_length=253, description="The operator that sends it.")
    until: Timestamp = Field(description="After this the attempt may be sent again with the same number.")


class WebhookDeliveryStatus(KubeModel):
    """How far delivery got."""

    phase: DeliveryPhase = Field(
        default=DeliveryPhase.PENDING,
        description="Pending, InFlight, Delivered or Failed.",
        json_schema_extra={"x-keep-default": True},
    )
    attempt: int = Field(default=0, ge=0, le=5, description="Attempts made.")
    next_attempt_at: Timestamp | None = Field(default=None, description="When the next attempt is due.")
    claim: Claim | None = Field(default=None, description="The attempt under way.")
    attempts: list[Attempt] = Field(default_factory=list, max_length=100, description="All attempts, oldest first.")
    settled: bool | None = Field(default=None, description="True: delivered or given up, nothing left to do.")
    finished_at: Timestamp | None = Field(default=None, description="When it was delivered or given up.")
    conditions: list[StatusCondition] = ConditionsField()
