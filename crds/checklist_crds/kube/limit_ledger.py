"""Enforces the limits of an organization exactly, however many processes create objects at once.

Before creating an object of a capped kind, room is reserved: an entry in the organization's status, written by a patch
that is conditional on the resourceVersion that was read. Concurrent requests of one organization in this process share
one patch (group commit).

**Why it is exact.** A reservation is granted in four steps: read the organization, then list the objects of the kind
(both from etcd, not from a cache), then compare objects and reservations with the limit, then write the reservation on
condition that the organization is unchanged. Take any other object that counts when the condition is checked. Its own
reservation was written before it was created. If that reservation still exists, the first step read it, since the
organization is unchanged. If it is gone, it was removed before the first step, by the process that had seen the object
created; so the object existed before the list and is in it. Either way it was counted. An object with a reservation
is counted once, by its name.

**What a crash leaves.** A reservation expires after two minutes. An object is created within 25 s of its reservation
or not at all, and an API server times out after one minute, so no object appears later, even if the clocks of replicas
differ by half a minute.

Idempotency-Keys are not reserved but counted by the hour in the same status: listing all records for each would take
longer the more runs all tenants of the namespace create.

Objects made with kubectl reserve nothing. The operator reserves room for a template when it admits it, and keys,
members and accounts made with kubectl count as soon as they exist.
"""

import asyncio
import contextlib
import logging
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from ..errors import LimitReached
from ..limits.organization_limits import REVOKED, Counted, Limits, Reserved, require_within, room_for, with_one_key
from ..resources.base import ORGANIZATION_LABEL
from ..resources.kinds import API_KEY, LOCAL_ACCOUNT, MEMBER, ORGANIZATION, TEMPLATE, Kind
from ..resources.organization import KeysOfHour, OrganizationSpec
from ..resources.template import counted_size
from ..times import Clock
from ..values.json_text import JsonObject
from .client import KubeClient
from .errors import KubeConflict, KubeContended, KubeError, KubeNotFound, KubeOutcomeUnknown, KubeUnavailable

logger = logging.getLogger(__name__)

_TRIES: Final = 60
_MADE_WITHIN_S: Final = 25.0
_ENDS_AFTER: Final = timedelta(minutes=2)
_WAITS_S: Final = 5.0
"""How long a request waits for others' reservations if only these leave no room."""
_POLL_S: Final = 0.2
_FLUSH_DELAY_S: Final = 0.1
"""How long the removal of reservations waits for the next reservation, to share its write."""
_BATCH: Final = 200
_MOST_RESERVATIONS: Final = 1_000
_KINDS: Final = {
    Counted.TEMPLATE: TEMPLATE,
    Counted.API_KEY: API_KEY,
    Counted.MEMBER: MEMBER,
    Counted.ACCOUNT: LOCAL_ACCOUNT,
}


@dataclass(slots=True, eq=False)
class _Request:
    wanted: Reserved
    namespace: str
    future: asyncio.Future[None]
    until: float
    """Deadline by the loop's clock."""


@dataclass(slots=True)
class _Account:
    """Unwritten changes of one organization."""

    requests: list[_Request] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    worker: asyncio.Task[None] | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Round:
    """One patch: the resulting status, and the answers to its requests."""

    reservations: list[Reserved]
    keys: list[KeysOfHour]
    granted: list[_Request] = field(default_factory=list)
    refused: list[tuple[_Request, LimitReached | KubeError]] = field(default_factory=list)
    waiting: list[_Request] = field(default_factory=list)

    def count_key(self, request: _Request, limits: Limits, now: datetime) -> None:
        try:
            self.keys = with_one_key(self.keys, limits, now)
        except LimitReached as error:
            self.refused.append((request, error))
        else:
            self.granted.append(request)

    def reserve(self, request: _Request, existing: Mapping[str, int], limits: Limits, *, may_wait: bool) -> None:
        full = room_for(request.wanted, existing, self.reservations, limits)
        if full is None and len(self.reservations) < _MOST_RESERVATIONS:
            self.granted.append(request)
            self.reservations = [*self.reservations, request.wanted]
        elif (full is None or full.may_change) and may_wait:
            self.waiting.append(request)
        else:
            error = KubeUnavailable("too much is created at once") if full is None else full.error
            self.refused.append((request, error))


class LimitLedger:
    """Reserves room for objects; `checklist_crds.limits.organization_limits` has the rules."""

    def __init__(self, client: KubeClient, clock: Clock, *, limits: Limits, installation_namespace: str) -> None:
        """`limits`: of organizations without their own."""
        self._client = client
        self._clock = clock
        self.limits = limits
        self._installation_namespace = installation_namespace
        self._accounts: dict[str, _Account] = {}

    @contextlib.asynccontextmanager
    async def room(
        self, organization: str, counted: Counted, name: str, namespace: str, *, size: int = 0
    ) -> AsyncIterator[None]:
        """Reserves room for one object, which the block creates (or enlarges to `size` bytes).

        Raises LimitReached; KubeNotFound when the organization does not exist or does not use `namespace`; any other
        KubeError; KubeOutcomeUnknown when the block takes too long.
        """
        wanted = Reserved(uuid.uuid4().hex, counted, f"{namespace}/{name}", size, self._clock())
        await self._reserve(organization, wanted, namespace)
        try:
            async with asyncio.timeout(_MADE_WITHIN_S):
                yield
        except TimeoutError:
            raise KubeOutcomeUnknown("creating the object took too long") from None
        except (KubeOutcomeUnknown, asyncio.CancelledError):
            raise  # The object may still appear: the reservation expires later.
        except BaseException:
            self._release(organization, wanted.id)
            raise
        self._release(organization, wanted.id)

    async def count_key(self, organization: str, namespace: str) -> None:
        """Counts an Idempotency-Key before it is used. It stays counted whatever the result.

        Raises LimitReached, KubeNotFound and other KubeErrors like `room`.
        """
        wanted = Reserved(uuid.uuid4().hex, Counted.IDEMPOTENCY_KEY, namespace, 0, self._clock())
        await self._reserve(organization, wanted, namespace)

    async def verify(self, organization: str, counted: Counted) -> None:
        """Raises LimitReached when more objects exist than the limits allow, KubeNotFound and other KubeErrors."""
        spec = OrganizationSpec.model_validate((await self._client.get(ORGANIZATION, organization))["spec"])
        existing = await self._existing(organization, counted, self._namespaces_of(spec))
        require_within(counted, existing, self.limits.of(spec.limits))

    async def limits_of(self, organization: str) -> Limits:
        """Returns the current limits; the installation's if the organization does not exist. Raises KubeError."""
        try:
            body = await self._client.get(ORGANIZATION, organization)
        except KubeNotFound:
            return self.limits
        return self.limits.of(OrganizationSpec.model_validate(body["spec"]).limits)

    async def close(self) -> None:
        """Writes outstanding removals (at most a second), then stops."""
        workers = [account.worker for account in self._accounts.values() if account.worker is not None]
        for account in self._accounts.values():
            account.wake.set()
        if workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*workers, return_exceptions=True), 1.0)

    async def _reserve(self, organization: str, wanted: Reserved, namespace: str) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        account = self._accounts.setdefault(organization, _Account())
        account.requests.append(_Request(wanted, namespace, future, loop.time() + _WAITS_S))
        account.wake.set()
        self._start(organization, account)
        try:
            await future
        except asyncio.CancelledError:
            # It may just have been granted; nothing was created for it.
            self._release(organization, wanted.id)
            raise

    def _release(self, organization: str, reservation: str) -> None:
        account = self._accounts.setdefault(organization, _Account())
        account.done.add(reservation)
        self._start(organization, account)

    def _start(self, organization: str, account: _Account) -> None:
        if account.worker is None or account.worker.done():
            account.worker = asyncio.create_task(self._work(organization, account), name=f"limits {organization}")

    async def _work(self, organization: str, account: _Account) -> None:
        while account.requests or account.done:
            if not account.requests:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(account.wake.wait(), _FLUSH_DELAY_S)
            account.wake.clear()
            batch = [one for one in account.requests[:_BATCH] if not one.future.done()]
            account.requests = account.requests[_BATCH:]
            done, account.done = account.done, set()
            try:
                waiting = await self._commit(organization, batch, done)
            except KubeError as error:
                # Reservations that could not be removed expire.
                logger.warning("limits of %s not written: %s", organization, error.message)
                _fail(batch, error)
                continue
            except BaseException:
                _fail([*batch, *account.requests], KubeUnavailable("the writer of reservations was stopped"))
                raise
            if waiting:
                account.requests += waiting
                await asyncio.sleep(_POLL_S)
        if not account.requests and not account.done and self._accounts.get(organization) is account:
            del self._accounts[organization]

    def _namespaces_of(self, spec: OrganizationSpec) -> tuple[str, ...]:
        namespace = spec.namespace or self._installation_namespace
        return tuple(dict.fromkeys((namespace, self._installation_namespace)))

    async def _existing(self, organization: str, counted: Counted, namespaces: tuple[str, ...]) -> dict[str, int]:
        return await _COUNTS[counted](self._client, _KINDS[counted], organization, namespaces)

    async def _commit(self, organization: str, batch: list[_Request], done: set[str]) -> list[_Request]:
        """Answers all requests of `batch` except those that have to wait, which are returned."""
        now = asyncio.get_running_loop().time
        for number in range(_TRIES):
            body = await self._client.get(ORGANIZATION, organization)
            spec = OrganizationSpec.model_validate(body["spec"])
            limits = self.limits.of(spec.limits)
            status = body.get("status") or {}
            before = [Reserved.parse(entry) for entry in status.get("reservations") or ()]
            keys = [KeysOfHour.model_validate(entry) for entry in status.get("idempotencyKeys") or ()]
            oldest = self._clock() - _ENDS_AFTER
            after = [one for one in before if one.id not in done and one.since > oldest]
            namespaces = self._namespaces_of(spec)
            existing = {
                counted: await self._existing(organization, counted, namespaces)
                for counted in {request.wanted.counted for request in batch} & _COUNTS.keys()
            }
            round_ = _Round(after, keys)
            for request in batch:
                wanted = request.wanted
                if wanted.counted is not Counted.ACCOUNT and request.namespace not in namespaces:
                    error = KubeNotFound(f"{request.namespace} is no namespace of {organization}")
                    round_.refused.append((request, error))
                elif wanted.counted is Counted.IDEMPOTENCY_KEY:
                    round_.count_key(request, limits, self._clock())
                else:
                    round_.reserve(request, existing[wanted.counted], limits, may_wait=now() < request.until)
            patch = dict[str, object]()
            if round_.reservations != before:
                patch["reservations"] = [one.as_status() for one in round_.reservations]
            if round_.keys != keys:
                patch["idempotencyKeys"] = [one.to_kube() for one in round_.keys]
            if patch:
                version = body["metadata"]["resourceVersion"]
                try:
                    await self._client.patch_status(ORGANIZATION, organization, patch, resource_version=version)
                except KubeConflict:
                    await asyncio.sleep(0.002 * min(number + 1, 20) * (0.5 + random.random()))
                    continue
            for request in round_.granted:
                if not request.future.done():
                    request.future.set_result(None)
            for request, refusal in round_.refused:
                _fail([request], refusal)
            return round_.waiting
        raise KubeContended("the organization changes too fast")


def _fail(requests: list[_Request], error: Exception) -> None:
    for request in requests:
        if not request.future.done():
            request.future.set_exception(error)


_Count = Callable[[KubeClient, Kind, str, tuple[str, ...]], Awaitable[dict[str, int]]]
"""Returns the sizes of an organization's objects that count, by `namespace/name`."""


async def _templates(client: KubeClient, kind: Kind, organization: str, namespaces: tuple[str, ...]) -> dict[str, int]:
    """Returns admitted templates, which are annotated with their size. Reads only metadata: bodies may be large."""
    found: dict[str, int] = {}
    selector = f"{ORGANIZATION_LABEL}={organization}"
    for namespace in namespaces:
        async for page, _ in client.pages(kind, namespace, label_selector=selector, metadata_only=True):
            for body in page:
                if size := counted_size(body["metadata"]):
                    found[_name_of(body)] = size
    return found


async def _keys(client: KubeClient, kind: Kind, organization: str, namespaces: tuple[str, ...]) -> dict[str, int]:
    found = await _objects(client, kind, organization, namespaces)
    return {_name_of(body): REVOKED if body["spec"].get("revoked") else 0 for body in found}


async def _members(client: KubeClient, kind: Kind, organization: str, namespaces: tuple[str, ...]) -> dict[str, int]:
    return {_name_of(body): 0 for body in await _objects(client, kind, organization, namespaces)}


async def _accounts(client: KubeClient, kind: Kind, organization: str, namespaces: tuple[str, ...]) -> dict[str, int]:
    """Returns accounts that the organization's admins created. All are in the installation's namespace."""
    return await _members(client, kind, organization, namespaces[-1:])


async def _objects(client: KubeClient, kind: Kind, organization: str, namespaces: tuple[str, ...]) -> list[JsonObject]:
    selector, found = f"{ORGANIZATION_LABEL}={organization}", list[JsonObject]()
    for namespace in namespaces:
        found += (await client.list_all(kind, namespace, label_selector=selector))[0]
    return found


def _name_of(body: JsonObject) -> str:
    metadata = body["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


_COUNTS: Final[dict[Counted, _Count]] = {
    Counted.TEMPLATE: _templates,
    Counted.API_KEY: _keys,
    Counted.MEMBER: _members,
    Counted.ACCOUNT: _accounts,
}
