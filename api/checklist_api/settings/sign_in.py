"""Settings of sign-in: identity provider, local accounts, sessions."""

import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from checklist_crds.settings.declaring import PREFIX, Group, setting
from checklist_crds.settings.forms import Number, Switch, Text, is_loopback
from checklist_crds.settings.renewable import Certificates, SecretText

from .rates import Rate

_RATE: Final = Rate(5 / 60, 10)
_SCOPES: Final = "openid email profile"
_SCOPE_FORM: Final = re.compile(r"[!#-\[\]-~]+(?: [!#-\[\]-~]+)*")
_NAME: Final = "your organization's account"

Limit = Annotated[Rate | None, Text(Rate.parse)]
RATE_SCHEMA: Final = {
    "type": "string",
    "pattern": r"^\s*([Oo][Ff][Ff]|[0-9]+(\.[0-9]+)?\s*/\s*(s|min|h)(\s+burst\s+[0-9]+)?)\s*$",
}
Secret = Annotated[SecretText, Text(SecretText)]
Authorities = Annotated[Certificates, Text(Certificates)]


def _issuer(text: str) -> str:
    parts = urlsplit(text)
    if parts.query or parts.fragment or parts.username or not parts.hostname:
        raise ValueError("must be https://host, optionally with a path")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(text)):
        raise ValueError("must begin with https:// (http:// only on this machine)")
    return text


def _scopes(text: str) -> str:
    scopes = " ".join(text.split())
    if "openid" not in scopes.split() or _SCOPE_FORM.fullmatch(scopes) is None:
        raise ValueError("must be words separated by spaces, including openid")
    return scopes


def _redis_url(text: str) -> str:
    """Validate a URL. Errors do not repeat it, because it may contain a password."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("redis", "rediss") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("must begin with redis://host or rediss://host")
    if find_spec("redis") is None:
        raise ValueError("needs the package redis: pip install 'checklist-dispatch[redis]'")
    return text


class OidcSettings(Group):
    """The OpenID provider and this service's registration there."""

    prefix = f"{PREFIX}OIDC_"
    title = "Signing in with an OpenID provider"
    asked_by: ClassVar[str | None] = "issuer"

    issuer: Annotated[str, Text(_issuer)] = setting(
        ..., "issuer (https://...) of the OpenID provider that people sign in with", default_text="none"
    )
    client_id: str = setting(..., "client id of this service at the provider", default_text="required with an issuer")
    client_secret: Secret | None = setting(
        None, "client secret at the provider; without it a public client", secret=True
    )
    scopes: Annotated[str, Text(_scopes)] = setting(_SCOPES, "requested scopes, including openid")
    name: Annotated[str, Text(lambda text: text[:80])] = setting(_NAME, "name of the provider on the sign-in button")
    trust_email: Switch = setting(False, "1 trusts e-mail addresses of a provider that never sends email_verified")
    ca: Authorities | None = setting(
        None,
        "file with trusted CA certificates (PEM) for the provider",
        variable="CA_FILE",
        from_file=True,
        default_text="the well-known ones",
    )

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        if self.ca is not None and self.issuer.startswith("http:"):
            yield f"{self.prefix}CA_FILE is set, but {self.prefix}ISSUER does not begin with https://"


class RedisSettings(Group):
    """The Redis for shared rate limits and sessions."""

    prefix = f"{PREFIX}REDIS_"
    title = "Redis"
    asked_by: ClassVar[str | None] = "url"

    url: Annotated[str, Text(_redis_url)] = setting(
        ...,
        "Redis for shared rate limits and sessions: redis://host:port/number or rediss://...",
        default_text="none",
        schema={"type": "string", "pattern": "^rediss?://[^/@]+(/[0-9]*)?$"},
    )
    password: Secret | None = setting(None, "password of Redis", secret=True)
    ca: Authorities | None = setting(
        None,
        "file with trusted CA certificates (PEM) for Redis (rediss://)",
        variable="CA_FILE",
        from_file=True,
        default_text="the well-known ones",
    )

    @property
    def is_tls(self) -> bool:
        return self.url.startswith("rediss:")

    @property
    def address(self) -> str:
        """The URL without a password."""
        return str(urlunsplit(self._without_password()[0]))

    @property
    def username(self) -> str | None:
        return urlsplit(self.url).username or None

    def current_password(self) -> str | None:
        """Return the current password. Call for each connection, since it may rotate."""
        return self.password.current if self.password is not None else self._without_password()[1]

    def _without_password(self) -> tuple[Any, str | None]:
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        password = unquote(parts.password) if parts.password else None
        user = f"{quote(parts.username, safe='')}@" if parts.username else ""
        return parts._replace(netloc=user + host), password

    def __repr__(self) -> str:
        return f"RedisSettings(url={self.address!r})"

    __str__ = __repr__

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        if self.password is not None and urlsplit(self.url).password:
            name = next(name for name in (f"{PREFIX}REDIS_PASSWORD", f"{PREFIX}REDIS_PASSWORD_FILE") if name in given)
            yield f"{PREFIX}REDIS_URL has a password, and {name} another"
        if self.ca is not None and not self.is_tls:
            yield f"{PREFIX}REDIS_CA_FILE is set, but {PREFIX}REDIS_URL does not begin with rediss://"


class SignInSettings(Group):
    """`rate`: None disables throttling. `redis`: None stores sessions in the cluster."""

    title = "Sign-in and sessions"

    oidc: OidcSettings | None = None
    local_accounts: Switch = setting(
        None,
        "1 lets people sign in with a local account, by password or link",
        default_text="1 without a provider, else 0",
        default_from=lambda before: before["oidc"] is None,
    )
    rate: Limit = setting(
        _RATE,
        "attempts for one account from one address; ten times as many for the account from anywhere, and for the "
        'address; or "off"',
        variable="SIGN_IN_RATE_LIMIT",
        default_text="5/min burst 10",
        schema=RATE_SCHEMA,
    )
    session_hours: Number = setting(12.0, "maximum duration of a session", unit="hours", gt=0, le=24 * 30)
    session_idle_minutes: Number = setting(
        60.0, "idle time after which a session ends", unit="minutes", gt=0, le=60 * 24 * 30
    )
    redis: RedisSettings | None = None

    @property
    def session_lifetime(self) -> timedelta:
        return timedelta(hours=self.session_hours)

    @property
    def session_idle(self) -> timedelta:
        return timedelta(minutes=self.session_idle_minutes)

    def contradictions(self, given: Collection[str]) -> Iterable[str]:
        if self.oidc is None and not self.local_accounts:
            yield f"{PREFIX}LOCAL_ACCOUNTS is 0 and {PREFIX}OIDC_ISSUER is not set: sign-in would be impossible"
        both = {f"{PREFIX}SESSION_HOURS", f"{PREFIX}SESSION_IDLE_MINUTES"} <= set(given)
        if both and self.session_idle > self.session_lifetime:
            yield f"{PREFIX}SESSION_IDLE_MINUTES is longer than {PREFIX}SESSION_HOURS"


def keeps_secure_cookies(base_url: str) -> bool:
    """Whether browsers accept Secure cookies of this URL: https or localhost."""
    return base_url.startswith("https:") or is_loopback(base_url)
