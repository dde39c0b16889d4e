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
    """A link that signs in once; a new one takes the place of the one before."""

    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the link's secret, hexadecimal."
    )
    expires_at: Timestamp = Field(description="Until when it can be used.")
    purpose: LinkPurpose = Field(default=LinkPurpose.SIGN_IN, description="What it is for.")


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
    link: OneTimeLink | None = Field(default=None, description="A link that signs in once; absent when it was used.")
    disabled: bool = Field(default=False, description="A disabled account signs in by no means.")
    reset_at: Timestamp | None = Field(
        default=None,
        description="When an administrator took the account over: sessions that began until then are over.",
    )


class LocalAccountStatus(KubeModel):
    """What the service knows of the account."""

    last_sign_in_at: Timestamp | None = Field(default=None, description="When the account last signed in.")
    conditions: list[StatusCondition] = ConditionsField()


class SignInMethod(StrEnum):
    OIDC = "oidc"
    PASSWORD = "password"  # noqa: S105 - the name of a method
    LINK = "link"


class DashboardSessionSpec(KubeModel):
    """A browser that is signed in. The object's name comes from the digest of its cookie; deleting it signs out."""

    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$", max_length=64, description="SHA-256 of the cookie's secret, hexadecimal."
    )
    issuer: str = Field(
        min_length=1, max_length=500, description="Who vouches for the person: the provider's issuer, or `local`."
    )
    subject: str = Field(min_length=1, max_length=255, description="The person, as the issuer names them for good.")
    email: str = Field(min_length=3, max_length=254, description="The e-mail address, in lower case.")
    email_verified: bool = Field(default=False, description="Whether the issuer vouches for the e-mail address, too.")
    name: str = Field(min_length=1, max_length=200, description="The person's name.")
    method: SignInMethod = Field(description="How the person signed in.")
    created_at: Timestamp = Field(description="When the person signed in.")
    expires_at: Timestamp = Field(description="When the session ends, whatever is done.")
    client: str | None = Field(default=None, max_length=300, description="The browser, in its own words.")
    sealed_id_token: str | None = Field(
        default=None, max_length=16_000, description="The provider's ID token, sealed: signing out there asks for it."
    )


class DashboardSessionStatus(KubeModel):
    """What the service knows of the session."""

    last_seen_at: Timestamp | None = Field(default=None, description="Last use, at most some minutes old.")
    conditions: list[StatusCondition] = ConditionsField()
