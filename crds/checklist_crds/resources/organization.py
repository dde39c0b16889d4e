"""Organization, Member and ApiKey: tenants, people and credentials (architecture section 2)."""

from enum import StrEnum

from pydantic import Field

from ..times import Timestamp
from .base import OBJECT_NAME_PATTERN, ConditionsField, KubeModel, OrganizationRef, StatusCondition


class Plan(KubeModel):
    """The organization's plan."""

    name: str = Field(default="default", min_length=1, max_length=64, description="Name of the plan.")
    runs_per_month: int | None = Field(
        default=None, ge=0, le=1_000_000_000, description="Runs per UTC calendar month; absent or null is unlimited."
    )


class Retention(KubeModel):
    """How long finished objects stay in the cluster, and whether they are archived afterwards."""

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
            "Whether runs and deliveries that leave the cluster are archived; the API still "
            "finds them there. False deletes them permanently, with their photos."
        ),
    )


class RateLimit(KubeModel):
    """Requests of one API key (contract section 8)."""

    requests_per_second: float = Field(gt=0, le=100_000, description="Sustained rate of one key.")
    burst: int = Field(ge=1, le=1_000_000, description="Requests that may come at once.")


class OrganizationLimits(KubeModel):
    """Limits of one organization; absent ones are those of the installation's settings."""

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
        description="Namespace of the organization's objects; absent: that of the installation.",
    )
    plan: Plan = Field(default_factory=Plan, description="The plan and its limit.")
    retention: Retention | None = Field(default=None, description="How long finished objects are kept.")
    rate_limit: RateLimit | None = Field(default=None, description="Overrides the installation's rate limit.")
    limits: OrganizationLimits | None = Field(default=None, description="Overrides the installation's limits.")


class PendingRun(KubeModel):
    """A counted run that is not confirmed yet."""

    run_id: str = Field(max_length=64, description="Id of the run.")
    since: Timestamp = Field(description="When it was counted.")


class DayCount(KubeModel):
    """The runs of one day."""

    day: int = Field(ge=1, le=31, description="Day of the month, in UTC.")
    used: int = Field(ge=0, description="Runs dispatched on that day, whatever their result.")


class QuotaStatus(KubeModel):
    """The runs of the current month; written by conditional patches only."""

    period: str = Field(max_length=7, description="The UTC calendar month, for example 2026-11.")
    used: int = Field(ge=0, description="Runs dispatched in the month, whatever their result.")
    by_day: list[DayCount] = Field(
        default_factory=list, max_length=31, description="The same runs by day; days without any are left out."
    )
    pending: list[PendingRun] = Field(
        default_factory=list, max_length=10_000, description="Counted runs that are not confirmed yet."
    )


class ReservationStatus(KubeModel):
    """Room for one object that is about to be created; written by conditional patches only."""

    id: str = Field(max_length=64, description="Id of the reservation.")
    counted: str = Field(max_length=32, description="Kind of object: template, api_key, member or account.")
    name: str = Field(max_length=320, description="Namespace and name of the object.")
    size: int = Field(default=0, ge=0, description="Bytes that count.")
    since: Timestamp = Field(description="When it was made; it expires after two minutes.")


class KeysOfHour(KubeModel):
    """Idempotency-Keys used in one hour, except for runs."""

    hour: Timestamp = Field(description="Start of the hour.")
    used: int = Field(ge=1, description="Templates and replays; written before each is created.")


class OrganizationStatus(KubeModel):
    """State of the organization."""

    id: str | None = Field(default=None, max_length=64, description="Public id, org-<uuid>.")
    quota: QuotaStatus | None = Field(default=None, description="Runs counted in the current month.")
    reservations: list[ReservationStatus] = Field(
        default_factory=list, max_length=1_000, description="Reserved room within the limits for objects being created."
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

    organization_ref: OrganizationRef = Field(description="Its organization.")
    name: str = Field(min_length=1, max_length=200, description="The person's name.")
    email: str = Field(
        min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$", description="The person's e-mail address."
    )
    role: Role = Field(default=Role.EDITOR, description="Role in the dashboard.")


class MemberBinding(KubeModel):
    """The identity of a member; set by the first sign-in with the invited e-mail address."""

    issuer: str = Field(min_length=1, max_length=500, description="The provider's issuer, or `local`.")
    subject: str = Field(min_length=1, max_length=255, description="The person's permanent id at the issuer.")
    at: Timestamp = Field(description="When the member first signed in.")


class MemberStatus(KubeModel):
    """State of the member."""

    binding: MemberBinding | None = Field(
        default=None, description="Identity of the member; absent before the first sign-in."
    )
    id: str | None = Field(default=None, max_length=64, description="Public id, u-<uuid>.")
    conditions: list[StatusCondition] = ConditionsField()


class ApiKeySpec(KubeModel):
    """An API key, by its digest; the plaintext is shown once and never stored."""

    organization_ref: OrganizationRef = Field(description="The organization that the key acts for.")
    name: str = Field(min_length=1, max_length=200, description="Purpose of the key.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the key, hexadecimal.")
    prefix: str = Field(default="cds_live_", max_length=32, description="The fixed prefix of the key.")
    last_four: str | None = Field(default=None, max_length=4, description="Its last four characters.")
    created_by: str | None = Field(
        default=None,
        max_length=253,
        pattern=OBJECT_NAME_PATTERN,
        description="The Member who created it.",
    )
    revoked: bool = Field(default=False, description="Whether the key is revoked and refused; cannot be undone.")


class ApiKeyStatus(KubeModel):
    """State of the key."""

    last_used_at: Timestamp | None = Field(default=None, description="Last use, at most an hour old.")
    conditions: list[StatusCondition] = ConditionsField()
