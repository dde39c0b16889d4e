"""Server-side sessions: opaque to the browser, and ended by one deletion.

The cookie holds 256 random bits; what is kept is their SHA-256. Two places can keep sessions, behind one protocol: the
cluster (`ClusterSessions`), where a watch makes an end known to every replica within a second, and Redis.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from checklist_crds.resources.account import DashboardSessionSpec, SignInMethod

from ...auth.members import Person


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is signed in."""

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
    """Where sessions are kept. All methods raise KubeError or ServiceUnavailable when the place does not answer."""

    async def require_up(self) -> None:
        """Before what cannot be taken back, such as using up a link."""
        ...

    async def create(self, session: Session) -> None: ...

    async def get(self, sha256: str, now: datetime) -> Session | None:
        """The session, unless it is unknown, was ended, has expired, or was without a request for too long."""
        ...

    def note_use(self, session: Session, now: datetime) -> None:
        """Remember in the background that it was used, at most every few minutes."""
        ...

    async def end(self, sha256: str) -> None:
        """At once and for every replica; nothing happens when there is no such session."""
        ...

    async def of_person(self, person: Person, now: datetime) -> list[Session]:
        """The newest first."""
        ...


def new_secret() -> str:
    """What the cookie holds: 43 characters, 256 bits."""
    return secrets.token_urlsafe(32)


def object_name(sha256: str) -> str:
    """The name of the DashboardSession object: one GET finds it."""
    return f"session-{sha256[:40]}"
