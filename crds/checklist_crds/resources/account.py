"""LocalAccount and DashboardSession: how people sign in to the dashboard, and the signed-in browsers.

Permissions depend on Members alone (`resources.organization`): an account authenticates a person, a session keeps that.
Both are in the installation's namespace, since a person may belong to several organizations.
"""

from enum import StrEnum

from pydantic import Field

from ..times import Timestamp
from .base import ConditionsField, KubeModel, StatusCondition


class LinkPurpose(StrEnum):
    SIGN_IN = "sign_in"
    INVITATION = "invitation"
    """Also asks to choose a password."""


class OneTimeLink(KubeModel):
    """A one-time sign-in link; a new one replaces it."""

    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the link's secret, hexadecimal."
    )
    expires_at: Timestamp = Field(description="When it expires.")
    purpose: LinkPurpose = Field(default=LinkPurpose.SIGN_IN, description="Purpose of the link.")


class LocalAccountSpec(KubeModel):
    """A person who signs in without an identity provider."""

    email: str = Field(
        min_length=3, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$", description="The e-mail address, in lower case."
    )
    name: str = Field(min_length=1, max_length=200, description="The person's name.")
    sealed_password: str | None = Field(
        default=None, max_length=2000, description="The Argon2id hash of the password, sealed; absent: none is set."
    )
    password_changed_at: Timestamp | None = Field(default=None, description="When the password was last set.")
    link: OneTimeLink | None = Field(default=None, description="A one-time sign-in link; absent once it is used.")
    disabled: bool = Field(default=False, description="Whether signing in is disabled.")
    reset_at: Timestamp | None = Field(
        default=None,
        description="When an administrator reset the account: earlier sessions have ended.",
    )


class LocalAccountStatus(KubeModel):
    """State of the account."""

    last_sign_in_at: Timestamp | None = Field(default=None, description="When the account last signed in.")
    conditions: list[StatusCondition] = ConditionsField()


class SignInMethod(StrEnum):
    OIDC = "oidc"
    PASSWORD = "password"  # noqa: S105 - the name of a method
    LINK = "link"


class DashboardSessionSpec(KubeModel):
    """A browser that is signed in. The object is named by the digest of its cookie; deleting it signs out."""

    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the cookie's secret, hexadecimal."
    )
    issuer: str = Field(min_length=1, max_length=500, description="Identity provider: its issuer, or `local`.")
    subject: str = Field(min_length=1, max_length=255, description="The person's permanent id at the issuer.")
    email: str = Field(min_length=3, max_length=254, description="The e-mail address, in lower case.")
    email_verified: bool = Field(default=False, description="Whether the issuer has verified the e-mail address.")
    name: str = Field(min_length=1, max_length=200, description="The person's name.")
    method: SignInMethod = Field(description="How the person signed in.")
    created_at: Timestamp = Field(description="When the person signed in.")
    expires_at: Timestamp = Field(description="When the session ends, also if it is in use.")
    client: str | None = Field(default=None, max_length=300, description="User-Agent of the browser.")
    sealed_id_token: str | None = Field(
        default=None, max_length=16_000, description="The provider's ID token, sealed; needed to sign out there."
    )


class DashboardSessionStatus(KubeModel):
    """State of the session."""

    last_seen_at: Timestamp | None = Field(default=None, description="Last use, at most some minutes old.")
    conditions: list[StatusCondition] = ConditionsField()
