"""Redis connections with the current password and CA.

Redis keeps authenticated connections when a password changes, so a rotation interrupts nothing. (The package is
optional and imported only if configured.)
"""

from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.connection import parse_url
from redis.credentials import CredentialProvider

from checklist_crds.settings.renewable import Certificates

from ..settings.sign_in import RedisSettings


def connect(settings: RedisSettings, **options: Any) -> Any:
    """Return a client that connects on first use; `options` as for `Redis`."""
    given: dict[str, Any] = {**parse_url(settings.address), **options}
    given.pop("username", None)
    given["credential_provider"] = _Credentials(settings)
    if settings.is_tls:
        given["connection_class"] = _Trusting
        given["trusted"] = settings.ca
    else:
        given["connection_class"] = Connection
    return Redis(connection_pool=ConnectionPool(**given))


class _Credentials(CredentialProvider):
    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings

    def get_credentials(self) -> Any:
        username, password = self._settings.username, self._settings.current_password()
        if password is None:
            return ()
        return (username, password) if username is not None else (password,)

    async def get_credentials_async(self) -> Any:
        return self.get_credentials()


class _Trusting(SSLConnection):
    def __init__(self, *, trusted: Certificates | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._trusted = trusted

    async def connect(self) -> None:
        if self._trusted is not None:
            self.ssl_context.ca_data = self._trusted.pem
            self.ssl_context.context = None  # built again with the current CA
        await super().connect()  # type: ignore[no-untyped-call]
