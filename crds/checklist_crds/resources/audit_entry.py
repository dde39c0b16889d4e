"""AuditEntry: who did what and when; written before the act, and immutable."""

import secrets
import uuid
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..times import Timestamp
from .base import KubeModel, OrganizationRef


class ActorKind(StrEnum):
    MEMBER = "member"
    API_KEY = "api_key"
    SYSTEM = "system"


class Actor(KubeModel):
    """The actor."""

    kind: ActorKind = Field(description="A member in the dashboard, an API key, or the service itself.")
    id: str | None = Field(
        default=None, max_length=253, description="Public id of the member (u-<uuid>), or the name of the key."
    )
    name: str = Field(max_length=200, description="Name of the member or key at that time.")
    email: str | None = Field(default=None, max_length=254, description="The member's e-mail address at that time.")


class AuditTarget(KubeModel):
    """The target of an action."""

    kind: str = Field(
        max_length=64,
        description="Kind: api_key, member, template, replay, delivery, run or session.",
    )
    id: str | None = Field(default=None, max_length=253, description="Its public id.")
    name: str | None = Field(default=None, max_length=500, description="Its name at that time.")


class AuditOutcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """A second entry for an announced act that failed."""


class AuditEntrySpec(KubeModel):
    """One action; immutable."""

    organization_ref: OrganizationRef = Field(description="Its organization.")
    at: Timestamp = Field(description="When it was done.")
    actor: Actor = Field(description="Who did it.")
    action: str = Field(
        max_length=64, pattern=r"^[a-z_]+\.[a-z_]+$", description="The action, for example template.deleted."
    )
    target: AuditTarget = Field(description="The target of the action.")
    outcome: AuditOutcome = Field(
        default=AuditOutcome.DONE,
        description="Absent or done; failed: the action announced by the earlier entry failed.",
    )
    details: dict[str, Annotated[str, Field(max_length=300)]] = Field(
        default_factory=dict, max_length=20, description="More details of the action; never a secret."
    )
    request_id: str | None = Field(default=None, max_length=128, description="X-Request-Id of the request.")
    address: str | None = Field(default=None, max_length=64, description="IP address of the request.")


def entry_name(at: datetime) -> str:
    """Returns `aud-` and a UUID of version 7 (RFC 9562): names sort by time."""
    milliseconds = int(at.timestamp() * 1000)
    bits = (milliseconds << 80) | (7 << 76) | (secrets.randbits(12) << 64) | (2 << 62) | secrets.randbits(62)
    return f"aud-{uuid.UUID(int=bits)}"
