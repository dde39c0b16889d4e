"""One-time sign-in links: what their text is, where it leads, and the little of it that is stored.

A link is `{base_url}/dashboard/sign-in#link={token}`. The token is in the fragment, so that it reaches no log and no
referrer; the page sends it in a body. It names its account and carries 256 random bits; the account keeps the SHA-256
of the whole, and the conditional write that uses the link removes it.
"""

import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from ..resources.account import LinkPurpose, OneTimeLink
from .digest import digest

LOCAL_ISSUER: Final = "local"
"""Who vouches for people with a LocalAccount."""
LIFETIMES: Final = {LinkPurpose.SIGN_IN: timedelta(minutes=15), LinkPurpose.INVITATION: timedelta(days=7)}
_NAME_DIGITS: Final = 40
_FORM: Final = re.compile(rf"([0-9a-f]{{{_NAME_DIGITS}}})\.[A-Za-z0-9_-]{{43}}")


def account_name(email: str, organization: str | None = None) -> str:
    """The name of the LocalAccount object of an e-mail address: of the installation, or of one organization.

    `organization`: metadata.name. One GET finds the account, and each of them can have one for each address. A line
    feed is in no address, so no address of the installation gives the name of an organization's account.
    """
    email = email.strip().lower()
    return "account-" + digest(email if organization is None else f"{organization}\n{email}")[:_NAME_DIGITS]


def new_token(email: str) -> str:
    """The secret of a fresh link to the installation's account of an e-mail address."""
    return token_to(account_name(email))


def token_to(account: str) -> str:
    """The secret of a fresh link to an account, by its name. Show it once, and keep what `one_time_link` gives."""
    return f"{account.removeprefix('account-')}.{secrets.token_urlsafe(32)}"


def one_time_link(
    token: str, *, now: datetime, purpose: LinkPurpose = LinkPurpose.SIGN_IN, lifetime: timedelta | None = None
) -> OneTimeLink:
    """What the account keeps of it. `lifetime`: None is the usual one of its purpose."""
    return OneTimeLink(sha256=digest(token), expires_at=now + (lifetime or LIFETIMES[purpose]), purpose=purpose)


def account_of(token: str) -> str | None:
    """The name of the account that a token is for; None for what has not the form of a token."""
    form = _FORM.fullmatch(token)
    return form and f"account-{form[1]}"


def password_owner(namespace: str, account: str) -> str:
    """For whom the hash of an account's password is sealed: no other account can be given it."""
    return f"{namespace}/{account}/password"


def address(base_url: str, token: str) -> str:
    """What the person opens. `base_url` is without a slash at its end."""
    return f"{base_url}/dashboard/sign-in#link={token}"
