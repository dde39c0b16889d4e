"""Organization, Member and ApiKey: tenants, people and credentials (architecture section 2)."""

from enum import StrEnum

from pydantic import Field

from ..times import Timestamp
from .base import OBJECT_NAME_PATTERN, ConditionsField, KubeModel, OrganizationRef, StatusCondition


class Plan(KubeModel):
    """What the organization has bought."""

    name: str = Field(default="default", min_length=1, max_length=64, description="Name of the plan.")
    runs_per_month: int | None = Field(
        default=None, ge=0, le=1_000_000_000, description="Runs per UTC calendar month; absent or null is unlimited."
    )


class Retention(KubeModel):
    """How long finished things are kept in the cluster, and whether the archive has them afterwards."""

    finished_runs_days: float | None = Field(
        default=None,
        gt=0,
        le=36_500,
        description="Days until a settled run leaves the cluster, with its deliveries; absent keeps it.",
    )
    deliveries_days: float | None = Field(
        default=None,
        gt=0,
        le=36_500,
        description="Days until a finished delivery leaves the cluster, if its run does not before; absent keeps it.",
    )
    audit_days: float | None = Field(
        default=None, gt=0, le=36_500, description="Days until an audit entry is removed; absent keeps it."
    )
    archive: bool = Field(
        default=True,
        description=(
            "Whether runs and deliveries that leave the cluster are in the archive from then on, where the API still "
            "finds them. False deletes them for good, with their photos."
        ),
    )


class RateLimit(KubeModel):
    """Requests of one API key (contract section 8)."""

    requests_per_second: float = Field(gt=0, le=100_000, description="Sustained rate of one key.")
    burst: int = Field(ge=1, le=1_000_000, description="Requests that may come at once.")


class OrganizationLimits(KubeModel):
    """Caps of one organization instead of the installation's settings; what is absent is as the settings say."""

    templates: int | None = Field(default=None, ge=0, le=100_000, description="How many templates it may have.")
    template_bytes: int | None = Field(
        default=None, ge=0, le=2**40, description="Bytes of all templates together, as compact JSON."
    )
    versions: int | None = Field(default=None, ge=1, le=100_000, description="Kept earlier versions of one template.")
    api_keys: int | None = Field(default=None, ge=0, le=100_000, description="API keys that are not revoked.")
    members: int | None = Field(default=None, ge=0, le=100_000, description="How many members it may have.")
    accounts: int | None = Field(
        default=None, ge=0, le=100_000, description="Local accounts that the organization's admins made."
    )
    idempotency_keys: int | None = Field(
        default=None, ge=0, le=1_000_000, description="Idempotency-Keys of templates and replays in 24 hours."
    )
    run_bytes: int | None = Field(
        default=None, ge=0, le=2**50, description="Bytes of photos and drawings ever stored for one run."
    )
    audit_entries: int | None = Field(
        default=None, ge=0, le=10_000_000, description="Audit entries; the oldest beyond are removed."
    )


class OrganizationSpec(KubeModel):
    """An organization: the owner of templates, runs, keys and members."""

    display_name: str = Field(min_length=1, max_length=200, description="The name that people see.")
    namespace: str | None = Field(
        default=None,
        min_length=1,
        max_length=63,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        description="Where the organization's objects live; absent: the namespace of the installation.",
    )
    plan: Plan = Field(default_factory=Plan, description="The plan and its limit.")
    retention: Retention | None = Field(default=None, description="How long finished things are kept.")
    rate_limit: RateLimit | None = Field(default=None, description="Instead of the installation's rate limit.")
    limits: OrganizationLimits | None = Field(default=None, description="Instead of the installation's caps.")


class PendingRun(KubeModel):
    """A run that is counted but was not seen yet."""

    run_id: str = Field(max_length=64, description="Id of the run.")
    since: Timestamp = Field(description="When it was counted.")


class DayCount(KubeModel):
    """The runs of one day."""

    day: int = Field(ge=1, le=31, description="Day of the month, in UTC.")
    used: int = Field(ge=0, description="Runs dispatched on that day, whatever became of them.")


class QuotaStatus(KubeModel):
    """The runs of the current month; written by conditional patches only."""

    period: str = Field(max_length=7, description="The UTC calendar month, for example 2026-11.")
    used: int = Field(ge=0, description="Runs dispatched in the month, whatever became of them.")
    by_day: list[DayCount] = Field(
        default_factory=list, max_length=31, description="The same runs by day; days without any are left out."
    )
    pending: list[PendingRun] = Field(
        default_factory=list, max_length=10_000, description="Counted, but not yet seen to exist."
    )


class ReservationStatus(KubeModel):
    """Room for one object that is about to be created; written by conditional patches only."""

    id: str = Field(max_length=64, description="Id of the reservation.")
    counted: str = Field(max_length=32, description="Kind of object: template, api_key, member or account.")
    name: str = Field(max_length=320, description="Namespace and name of the object.")
    size: int = Field(default=0, ge=0, description="Bytes that count.")
    since: Timestamp = Field(description="When it was made; it ends after two minutes.")


class KeysOfHour(KubeModel):
    """What was made with an Idempotency-Key in one hour, but for runs, which are counted as such."""

    hour: Timestamp = Field(description="The beginning of the hour.")
    used: int = Field(ge=1, description="Templates and replays; written before each is made.")


class OrganizationStatus(KubeModel):
    """What the service knows of the organization."""

    id: str | None = Field(default=None, max_length=64, description="Public id, org-<uuid>.")
    quota: QuotaStatus | None = Field(default=None, description="Runs counted in the current month.")
    reservations: list[ReservationStatus] = Field(
        default_factory=list, max_length=1_000, description="Room within the caps for what is being created."
    )
    idempotency_keys: list[KeysOfHour] = Field(
        default_factory=list, max_length=50, description="Idempotency-Keys that were used in the last 24 hours."
    )
    conditions: list[StatusCondition] = ConditionsField()


class Role(StrEnum):
    ADMIN = "admin"
    EDITOR = "editor"
    VIEWER = "viewer"


class MemberSpec(KubeModel):
    """A person of an organization."""

    organization_ref: OrganizationRef = Field(description="The organization that it belongs to.")
    name: str = Field(min_length=1, max_length=200, description="The person's name.")
    email: str = Field(
        min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$", description="The person's e-mail address."
    )
    role: Role = Field(default=Role.EDITOR, description="What the person may do in the dashboard.")


class MemberBinding(KubeModel):
    """Who signs in as the member; bound by the first sign-in with the invited e-mail address."""

    issuer: str = Field(min_length=1, max_length=500, description="The provider's issuer, or `local`.")
    subject: str = Field(min_length=1, max_length=255, description="The person, as the issuer names them for good.")
    at: Timestamp = Field(description="When the member first signed in.")


class MemberStatus(KubeModel):
    """What the service knows of the member."""

    binding: MemberBinding | None = Field(default=None, description="Who signs in as this member; absent: nobody yet.")
    id: str | None = Field(default=None, max_length=64, description="Public id, u-<uuid>.")
    conditions: list[StatusCondition] = ConditionsField()


class ApiKeySpec(KubeModel):
    """An API key, by its digest; the plaintext is shown once and never stored."""

    organization_ref: OrganizationRef = Field(description="The organization that the key acts for.")
    name: str = Field(min_length=1, max_length=200, description="What the key is for, in its maker's words.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the key, hexadecimal.")
    prefix: str = Field(default="cds_live_", max_length=32, description="The fixed beginning of the key.")
    last_four: str | None = Field(default=None, max_length=4, description="Its last four characters.")
    created_by: str | None = Field(
        default=None,
        max_length=253,
        pattern=OBJECT_NAME_PATTERN,
        description="The Member who made it.",
    )
    revoked: bool = Field(default=False, description="A revoked key is refused. It cannot be taken back.")


class ApiKeyStatus(KubeModel):
    """What the service knows of the key."""

    last_used_at: Timestamp | None = Field(default=None, description="Last use, at most an hour old.")
    conditions: list[StatusCondition] = ConditionsField()
