"""Members with dashboard sessions, created directly in the cluster for tests, pictures and measurements.

person = await sign_in(kube, organization="org-...", namespace="checklists", role="editor")
await client.get(f"/dashboard/api/{person.organization_id}/runs", headers=person.headers)
await device.context.add_cookies([person.cookie(base_url)])
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from checklist_api.dashboard.access import COOKIE, CSRF_HEADER
from checklist_api.dashboard.sessions.store import new_secret, object_name
from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.resources.account import DashboardSessionSpec, SignInMethod
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import DASHBOARD_SESSION, MEMBER
from checklist_crds.secrets.digest import digest
from checklist_crds.times import format_timestamp, utc_now

ISSUER = "https://people.example"
LIFETIME = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Person:
    """A member of an organization with a session. `subject` identifies the person in several organizations."""

    organization_id: str
    member_id: str
    name: str
    email: str
    subject: str
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        """Headers for reading requests; a write also needs `csrf_headers`."""
        return {"Cookie": f"{COOKIE}={self.secret}"}

    def csrf_headers(self, csrf_token: str) -> dict[str, str]:
        """`csrf_token`: from `GET /dashboard/api/session`."""
        return {**self.headers, CSRF_HEADER: csrf_token, "Sec-Fetch-Site": "same-origin"}

    def cookie(self, base_url: str) -> dict[str, Any]:
        """The cookie for the whole host, as a browser stores it."""
        parts = urlsplit(base_url)
        return {
            "name": COOKIE,
            "value": self.secret,
            "url": f"https://{parts.netloc}/",
            "secure": True,
            "httpOnly": True,
            "sameSite": "Lax",
        }


async def make_member(
    kube: KubeClient,
    *,
    organization: str,
    namespace: str,
    role: str,
    name: str = "Ada Example",
    email: str | None = None,
    subject: str | None = None,
) -> str:
    """Create a Member, bound to `subject` of ISSUER if given; returns its name, which is its id."""
    member = new_id("u")
    spec = {
        "organizationRef": {"name": organization},
        "name": name,
        "email": email or f"{member}@example.com",
        "role": role,
    }
    metadata = {"name": member, "namespace": namespace, "labels": {ORGANIZATION_LABEL: organization}}
    body = {"apiVersion": API_VERSION, "kind": MEMBER.kind, "metadata": metadata, "spec": spec}
    await kube.create(MEMBER, body, namespace)
    if subject is not None:
        binding = {"issuer": ISSUER, "subject": subject, "at": format_timestamp(utc_now())}
        await kube.patch_status(MEMBER, member, {"binding": binding}, namespace)
    return member


async def sign_in(
    kube: KubeClient,
    *,
    organization: str,
    namespace: str,
    role: str = "admin",
    name: str = "Ada Example",
    subject: str | None = None,
    installation_namespace: str | None = None,
    now: datetime | None = None,
) -> Person:
    """Create a member with `role` and a session. `organization`: metadata.name."""
    subject = subject or new_secret()
    email = f"{subject[:12].lower().strip('-_')}@example.com"
    member = await make_member(
        kube, organization=organization, namespace=namespace, role=role, name=name, email=email, subject=subject
    )
    secret = new_secret()
    made = now or utc_now()
    spec = DashboardSessionSpec(
        sha256=digest(secret),
        issuer=ISSUER,
        subject=subject,
        email=email,
        email_verified=True,
        name=name,
        method=SignInMethod.OIDC,
        created_at=made,
        expires_at=made + LIFETIME,
    )
    where = installation_namespace or namespace
    metadata = {"name": object_name(spec.sha256), "namespace": where}
    body = {
        "apiVersion": API_VERSION,
        "kind": DASHBOARD_SESSION.kind,
        "metadata": metadata,
        "spec": spec.to_kube(),
    }
    await kube.create(DASHBOARD_SESSION, body, where)
    return Person(
        organization_id=object_id("org", organization),
        member_id=member,
        name=name,
        email=email,
        subject=subject,
        secret=secret,
    )
