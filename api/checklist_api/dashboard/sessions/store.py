"""Server-side sessions, identified by an opaque cookie.

The cookie holds 256 random bits; only their SHA-256 is stored. A `SessionStore` keeps sessions in the cluster
(`ClusterSessions`, where a watch propagates the end of a session to all replicas within a second) or in Redis.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from checklist_crds.resources.account import DashboardSessionSpec, SignInMethod

from ...auth.members import Person


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a signed-in person."""

    sha256: str
    issuer: str
    subject: str
    email: str
    email_verified: bool
    name: str
    method: SignInMethod
    created_at: datetime
    expires_at: datetime
    client: str | None = None
    sealed_id_token: str | None = None
    last_seen_at: datetime | None = None

    @property
    def person(self) -> Person:
        return self.issuer, self.subject

    @classmethod
    def of(cls, spec: DashboardSessionSpec, last_seen_at: datetime | None) -> "Session":
        return cls(
            sha256=spec.sha256,
            issuer=spec.issuer,
            subject=spec.subject,
            email=spec.email,
            email_verified=spec.email_verified,
            name=spec.name,
            method=spec.method,
            created_at=spec.created_at,
            expires_at=spec.expires_at,
            client=spec.client,
            sealed_id_token=spec.sealed_id_token,
            last_seen_at=last_seen_at,
        )

    def spec(self) -> DashboardSessionSpec:
        return DashboardSessionSpec(
            sha256=self.sha256,
            issuer=self.issuer,
            subject=self.subject,
            email=self.email,
            email_verified=self.email_verified,
            name=self.name,
            method=self.method,
            created_at=self.created_at,
            expires_at=self.expires_at,
            client=self.client,
            sealed_id_token=self.sealed_id_token,
        )


class SessionStore(Protocol):
    """Stores sessions. All methods raise KubeError or ServiceUnavailable when the store is unavailable."""

    async def require_up(self) -> None:
        """Fail if the store is down. Called before irreversible steps, such as using up a link."""
        ...

    async def create(self, session: Session) -> None: ...

    async def get(self, sha256: str, now: datetime) -> Session | None:
        """Return the session; None if it is unknown, ended, expired or idle for too long."""
        ...

    def note_use(self, session: Session, now: datetime) -> None:
        """Record the use in the background, at most every few minutes."""
        ...

    async def end(self, sha256: str) -> None:
        """End the session in all replicas; no effect if it does not exist."""
        ...

    async def of_person(self, person: Person, now: datetime) -> list[Session]:
        """Return the person's sessions, newest first."""
        ...


def new_secret() -> str:
    """Return a cookie value: 43 characters, 256 bits."""
    return secrets.token_urlsafe(32)


def object_name(sha256: str) -> str:
    """Return the name of the DashboardSession object."""
    return f"session-{sha256[:40]}"
