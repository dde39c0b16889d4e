"""Local accounts: sign-in without an identity provider, by password or one-time link.

Passwords are stored as Argon2id hashes, sealed and bound to the account; links as digests.

Accounts created with kubectl belong to the administrator of the installation, and their e-mail addresses count as
verified.
Accounts created by an organization's admin (`invite`) have that organization's label, and their addresses are valid in
that organization only: otherwise an admin could impersonate people in other organizations.

An account's name is derived from its e-mail address and, if labelled, its organization. So an address has at most one
account for the installation and one for each organization, and inviting it reveals nothing about the others. Accounts
from before names included the organization keep their names.

At a sign-in by password, all accounts of the address are candidates. Their hashes share one salt, so that a sign-in
always takes one Argon2id computation, for any number of accounts (timing attacks).
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError

from checklist_crds.errors import Conflict
from checklist_crds.kube.client import KubeClient, retry_conflicts
from checklist_crds.kube.errors import KubeAlreadyExists, KubeError, KubeNotFound
from checklist_crds.kube.informer import SILENCE_S, Informer
from checklist_crds.resources.account import LinkPurpose, LocalAccountSpec
from checklist_crds.resources.kinds import LOCAL_ACCOUNT
from checklist_crds.secrets.account_links import (
    LOCAL_ISSUER,
    account_name,
    account_of,
    one_time_link,
    password_owner,
    token_to,
)
from checklist_crds.secrets.digest import digest
from checklist_crds.secrets.sealing import KeyRing, SealBroken, sealing_key_of
from checklist_crds.times import Clock, format_timestamp
from checklist_crds.values.json_text import JsonObject

from ..sessions.store import Session
from .local_account import LocalAccount
from .passwords import Passwords

logger = logging.getLogger(__name__)

_LONGEST_EMAIL: Final = 254
FRESH_LINK: Final = timedelta(minutes=15)
"""How long after a sign-in by link the password may be changed without the current one."""


class AccountExists(Conflict):
    default_message = "This person already has a password in this organization. Reset the member first."


class LocalAccounts:
    """Accounts in the installation's namespace. Methods that query the cluster raise KubeError."""

    def __init__(
        self,
        client: KubeClient,
        watcher: KubeClient,
        *,
        namespace: str,
        sealing: KeyRing,
        passwords: Passwords,
        clock: Clock,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._sealing = sealing
        self._passwords = passwords
        self._clock = clock
        self._known: dict[str, LocalAccount] = {}
        self._writes: set[asyncio.Task[None]] = set()
        self.on_closed: Callable[[str], None] = lambda _: None
        """Called with the name of an account that is disabled, removed or reset."""
        self.informer = Informer(watcher, LOCAL_ACCOUNT, self._apply, namespace=namespace, silence_s=SILENCE_S)

    async def admits(self, session: Session) -> bool:
        """Whether a session is still valid: its account exists, is enabled, and was not reset since."""
        if not self.informer.connected:
            await self._get(session.subject)
        account = self._known.get(session.subject)
        if account is None or account.spec.disabled:
            return False
        return account.spec.reset_at is None or session.created_at > account.spec.reset_at

    async def with_password(self, email: str, password: str) -> list[LocalAccount]:
        """Return the accounts of the address with this password, in constant time. Raises ServiceUnavailable."""
        accounts = [account for account in await self._of_email(email) if not account.spec.disabled]
        candidates = [(account, hashed) for account in accounts if (hashed := self._hash_of(account)) is not None]
        matches = await self._passwords.matching([hashed for _, hashed in candidates], password)
        found = [candidate for candidate, is_right in zip(candidates, matches, strict=True) if is_right]
        for account, hashed in found:
            await self._renew(account, hashed, password)
        return [account for account, _ in found]

    async def is_password(self, account: LocalAccount, password: str) -> bool:
        """Check a password. Raises ServiceUnavailable."""
        return await self._passwords.verify(self._hash_of(account), password)

    async def get(self, name: str) -> LocalAccount | None:
        """Read the account from the cluster."""
        return await self._get(name)

    async def redeem(self, token: str) -> tuple[LocalAccount, LinkPurpose] | None:
        """Use up a one-time link, by compare-and-swap. None if it is unknown, used, expired or its account disabled."""
        name = account_of(token)
        if name is None:
            return None

        async def attempt() -> tuple[LocalAccount, LinkPurpose] | None:
            account = await self._get(name)
            link = account.spec.link if account is not None else None
            if account is None or link is None or account.spec.disabled or self._clock() >= link.expires_at:
                return None
            if not hmac.compare_digest(link.sha256, digest(token)):
                return None
            return await self._write(account, {"link": None}), link.purpose

        found: tuple[LocalAccount, LinkPurpose] | None = await retry_conflicts(attempt)
        return found

    async def set_password(self, account: LocalAccount, password: str) -> LocalAccount:
        """Set the password and remove the link. Raises KubeConflict, ServiceUnavailable."""
        hashed = await self._hashed(account, password)
        change = {"sealedPassword": self._seal(account.name, hashed), "passwordChangedAt": self._now(), "link": None}
        return await self._write(account, change)

    async def name_of(self, email: str, organization: str) -> str:
        """Return the name of the organization's account of the address, which need not exist."""
        return (await self._names(email.strip().lower(), organization))[0]

    async def invite(self, *, email: str, name: str, organization: str) -> tuple[str, datetime]:
        """Create a link for a person invited to `organization` (metadata.name); returns its token and expiry.

        Creates the organization's account of the address, or replaces the link of one without a password. Raises
        AccountExists.
        """
        email = email.strip().lower()
        own = await self.name_of(email, organization)
        token = token_to(own)
        link = one_time_link(token, now=self._clock(), purpose=LinkPurpose.INVITATION)
        spec = LocalAccountSpec(email=email, name=name, link=link).to_kube()
        body = LOCAL_ACCOUNT.manifest(own, self._namespace, spec, organization=organization)
        try:
            self.informer.observe(await self._client.create(LOCAL_ACCOUNT, body, self._namespace))
        except KubeAlreadyExists:

            async def attempt() -> None:
                account = await self._get(own)
                if account is None or account.organization != organization or account.has_password:
                    raise AccountExists() from None
                if account.spec.disabled:
                    raise AccountExists("The account of this e-mail address is disabled.") from None
                await self._write(account, {"link": spec["link"], "name": name})

            await retry_conflicts(attempt)
        return token, link.expires_at

    async def reset(self, *, email: str, organization: str) -> None:
        """Remove password, link and sessions of the organization's account of the address.

        `invite` creates a new link. Other accounts of the address are unchanged.
        """
        for name in await self._names(email.strip().lower(), organization):

            async def attempt(name: str = name) -> None:
                account = await self._get(name)
                if account is not None and account.organization == organization:
                    change = {"sealedPassword": None, "passwordChangedAt": None, "link": None, "resetAt": self._now()}
                    await self._write(account, change)

            await retry_conflicts(attempt)

    def note_sign_in(self, name: str) -> None:
        """Record the time of the sign-in in the background."""
        task = asyncio.create_task(self._write_sign_in(name))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write_sign_in(self, name: str) -> None:
        status = {"lastSignInAt": self._now()}
        try:
            self.informer.observe(await self._client.patch_status(LOCAL_ACCOUNT, name, status, self._namespace))
        except KubeError as error:
            logger.info("account.sign_in_not_written", extra={"account": name, "reason": error.message})

    async def _names(self, email: str, organization: str) -> list[str]:
        """Return possible names of the organization's account of the address, the preferred one first. An older account
        may have the name without the organization; it is always read, for constant time."""
        earlier = await self._get(account_name(email))
        has_earlier = earlier is not None and earlier.organization == organization
        return [account_name(email)] * has_earlier + [account_name(email, organization)]

    async def _of_email(self, email: str) -> list[LocalAccount]:
        """Read all accounts of the address from the cluster."""
        if len(email) > _LONGEST_EMAIL or not email.isprintable():
            return []
        wanted = re.sub(r"([\\=,])", r"\\\1", email)
        bodies, _ = await self._client.list_all(LOCAL_ACCOUNT, self._namespace, field_selector=f"spec.email={wanted}")
        for body in bodies:
            self.informer.observe(body)
        names = sorted(str(body["metadata"]["name"]) for body in bodies)
        return [self._known[name] for name in names if name in self._known]

    async def _hashed(self, account: LocalAccount, password: str) -> str:
        """Hash with the salt of the address's other accounts, so that one computation serves all of them."""
        others = (self._hash_of(other) for other in await self._of_email(account.spec.email))
        return await self._passwords.hash(password, salt_of=next((hashed for hashed in others if hashed), None))

    async def _get(self, name: str) -> LocalAccount | None:
        try:
            self.informer.observe(await self._client.get(LOCAL_ACCOUNT, name, self._namespace))
        except KubeNotFound:
            self.informer.forget({"metadata": {"namespace": self._namespace, "name": name}})
        return self._known.get(name)

    async def _write(self, account: LocalAccount, change: Mapping[str, Any]) -> LocalAccount:
        """Patch the account. Raises KubeConflict if it has changed since it was read."""
        body = await self._client.patch(
            LOCAL_ACCOUNT, account.name, {"spec": dict(change)}, self._namespace, resource_version=account.version
        )
        self.informer.observe(body)
        return LocalAccount.of(body)

    async def _renew(self, account: LocalAccount, hashed: str, password: str) -> None:
        """Rehash a password with outdated parameters and reseal one under an old key, after a sign-in."""
        outdated = self._passwords.is_outdated(hashed)
        if not outdated and sealing_key_of(account.spec.sealed_password or "") == self._sealing.current:
            return
        try:
            fresh = await self._hashed(account, password) if outdated else hashed
            await self._write(account, {"sealedPassword": self._seal(account.name, fresh)})
        except KubeError as error:
            logger.info("account.password_not_renewed", extra={"account": account.name, "reason": error.message})

    def _hash_of(self, account: LocalAccount) -> str | None:
        sealed = account.spec.sealed_password
        if sealed is None:
            return None
        try:
            return self._sealing.open(sealed, owner=self._owner(account.name))
        except SealBroken as error:
            logger.error("account.password_unreadable", extra={"account": account.name, "reason": str(error)})
            return None

    def _seal(self, name: str, hashed: str) -> str:
        return self._sealing.seal(hashed, owner=self._owner(name))

    def _owner(self, name: str) -> str:
        return password_owner(self._namespace, name)

    def _now(self) -> str:
        return format_timestamp(self._clock())

    def _apply(self, change: str, body: JsonObject) -> None:
        name = str(body["metadata"]["name"])
        before = self._known.pop(name, None)
        if change == "DELETE":
            if before is not None:
                self.on_closed(name)
            return
        try:
            account = LocalAccount.of(body)
        except ValidationError as error:
            logger.warning("account.unreadable", extra={"account": name, "reason": error.errors()[0]["msg"]})
            return
        email = account.spec.email
        if name not in (account_name(email), account_name(email, account.organization)):
            logger.warning("account.misnamed", extra={"account": name, "remedy": "checklist-dispatch sign-in-link"})
            return
        self._known[name] = account
        is_reset = account.spec.reset_at is not None and (
            before is None or before.spec.reset_at != account.spec.reset_at
        )
        if account.spec.disabled or is_reset:
            self.on_closed(name)


__all__ = ["LOCAL_ISSUER", "AccountExists", "LocalAccount", "LocalAccounts"]
