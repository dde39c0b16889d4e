"""A pending sign-in, sealed in a cookie of the browser until the provider redirects back; single use, ten minutes."""

import base64
import binascii
import json
import re
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

from aiohttp import web

from checklist_crds.secrets.sealing import KeyRing, SealBroken

from ..access import cookie_of

COOKIE: Final = "__Host-checklists-sign-in"
LIFETIME: Final = timedelta(minutes=10)
HOME: Final = "/dashboard"
_OWNER: Final = "dashboard/sign-in"
_LONGEST_RETURN: Final = 1000
_RETURN: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?")


@dataclass(frozen=True, slots=True)
class Pending:
    """`at`: Unix seconds. `return_to`: path on this service, including the path prefix."""

    state: str
    nonce: str
    verifier: str
    return_to: str
    at: int

    @classmethod
    def begin(cls, return_to: str, now: datetime) -> "Pending":
        new = secrets.token_urlsafe
        return cls(new(32), new(32), new(48), return_to, int(now.timestamp()))

    def put(self, response: web.StreamResponse, sealing: KeyRing) -> None:
        sealed = sealing.seal(json.dumps(asdict(self)), owner=_OWNER)
        text = base64.urlsafe_b64encode(sealed.encode()).decode().rstrip("=")
        age = int(LIFETIME.total_seconds())
        response.set_cookie(COOKIE, text, max_age=age, path="/", secure=True, httponly=True, samesite="Lax")

    @classmethod
    def of(cls, request: web.Request, sealing: KeyRing, now: datetime) -> "Pending | None":
        """Read the cookie. None if it is missing, expired or not sealed by this installation."""
        text = cookie_of(request, COOKIE)
        if text is None:
            return None
        try:
            sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
            pending = cls(**json.loads(sealing.open(sealed, owner=_OWNER)))
        except (SealBroken, ValueError, TypeError, binascii.Error):
            return None
        return pending if 0 <= now.timestamp() - pending.at + 1 < LIFETIME.total_seconds() + 1 else None


def forget_pending(response: web.StreamResponse) -> None:
    response.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Lax")


def safe_return(given: str | None, prefix: str) -> str:
    """Return `given` if it is a path of the dashboard or of a run's page, else the dashboard's path.

    `prefix`: external path prefix of the service.
    """
    home = prefix + HOME
    if not given or len(given) > _LONGEST_RETURN or _RETURN.fullmatch(given) is None:
        return home
    path = given.partition("?")[0]
    plain = path.lower().replace("%2e", ".")
    if "//" in path or "%2f" in plain or "%5c" in plain or {".", ".."} & set(plain.split("/")):
        return home
    own = path.removeprefix(prefix)
    if prefix and own == path:
        return home
    allowed = own == HOME or own.startswith((HOME + "/", "/r/"))
    return given if allowed and not own.startswith(HOME + "/api") else home
