"""One-time sign-in links.

A link is `{base_url}/dashboard/sign-in#link={token}`. The token is in the fragment, so that it appears in no log and no
referrer; the page sends it in a body. It contains the account's name and 256 random bits; the account stores its
SHA-256, and the conditional write that uses the link removes it.
"""

import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from ..resources.account import LinkPurpose, OneTimeLink
from .digest import digest

LOCAL_ISSUER: Final = "local"
"""Issuer of people with a LocalAccount."""
LIFETIMES: Final = {LinkPurpose.SIGN_IN: timedelta(minutes=15), LinkPurpose.INVITATION: timedelta(days=7)}
_NAME_DIGITS: Final = 40
_FORM: Final = re.compile(rf"([0-9a-f]{{{_NAME_DIGITS}}})\.[A-Za-z0-9_-]{{43}}")


def account_name(email: str, organization: str | None = None) -> str:
    """Returns the name of the LocalAccount object of an e-mail address, of the installation or one organization.

    `organization`: metadata.name. One GET finds the account, and each organization can have one per address. No address
    contains a line feed, so names of the installation's accounts never collide with those of an organization.
    """
    email = email.strip().lower()
    return "account-" + digest(email if organization is None else f"{organization}\n{email}")[:_NAME_DIGITS]


def token_to(account: str) -> str:
    """Returns the secret of a new link to an account, by its name. Show it once, and store `one_time_link`."""
    return f"{account.removeprefix('account-')}.{secrets.token_urlsafe(32)}"


def one_time_link(
    token: str, *, now: datetime, purpose: LinkPurpose = LinkPurpose.SIGN_IN, lifetime: timedelta | None = None
) -> OneTimeLink:
    """Returns what the account stores. `lifetime`: None for the default of its purpose."""
    return OneTimeLink(sha256=digest(token), expires_at=now + (lifetime or LIFETIMES[purpose]), purpose=purpose)


def account_of(token: str) -> str | None:
    """Returns the account's name in a token; None for malformed text."""
    form = _FORM.fullmatch(token)
    return form and f"account-{form[1]}"


def password_owner(namespace: str, account: str) -> str:
    """Returns the owner for sealing a password hash, so that it cannot be used for another account."""
    return f"{namespace}/{account}/password"


def address(base_url: str, token: str) -> str:
    """Returns the URL for the person. `base_url` has no trailing slash."""
    return f"{base_url}/dashboard/sign-in#link={token}"
