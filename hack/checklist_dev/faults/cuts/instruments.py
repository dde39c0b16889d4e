"""An instrumented operator: the real Term, with client, permits, sender and watch that report to a Course.

Only Kopf is replaced: all operators of the enumeration share its watches (`feed`), since there are hundreds of them in
one process.
"""

import asyncio
import contextlib
import functools
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeConflict
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.values.json_text import JsonObject
from checklist_dev.faults.cuts.course import API, Course
from checklist_operator import term as term_module
from checklist_operator.runtime.handlers import Observe
from checklist_operator.transport.fairness import PermitLimits, Permits, Place
from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender, tls_context

RECEIVER_HOST: Final = "receiver.test"


@dataclass(frozen=True, slots=True)
class Wiring:
    """The connections of one operator's instruments."""

    course: Course
    roles: Mapping[str, str]
    """The case's objects by name, and their names in points."""
    follow: Callable[[Observe], AsyncIterator[None]]
    follow_settled: Callable[[Callable[[str | None, JsonObject], None]], AsyncIterator[None]]
    sent: Callable[[int, int], None]
    """Called with the event's seq and the attempt when a transmission begins."""


_wiring: ContextVar[Wiring] = ContextVar("wiring")
_transmission: ContextVar[str] = ContextVar("transmission")


@contextlib.contextmanager
def instrumented(wiring: Wiring) -> Iterator[None]:
    """A Term created in the block is instrumented."""
    token = _wiring.set(wiring)
    try:
        with mock.patch.multiple(
            term_module,
            Sender=SteppingSender,
            Permits=SteppingPermits,
            EmbeddedKopf=SharedWatch,
            SettledDeliveries=SharedWatchOfSettled,
        ):
            yield
    finally:
        _wiring.reset(token)


class SteppingClient(KubeClient):
    """Uses the connections of `shared`; calls for objects of the case are steps."""

    def __init__(self, shared: KubeClient, wiring: Wiring, discovery: dict[str, tuple[int, str]]) -> None:
        self.__dict__.update(shared.__dict__)
        self._wiring = wiring
        self._discovery = discovery

    async def get(
        self, kind: Kind, name: str, namespace: str | None = None, *, not_older_than: str | None = None
    ) -> JsonObject:
        async with self._step("GET", kind, name):
            return await super().get(kind, name, namespace, not_older_than=not_older_than)

    async def create(self, kind: Kind, body: Mapping[str, Any], namespace: str | None = None) -> JsonObject:
        async with self._step("POST", kind, str(body["metadata"].get("name"))):
            return await super().create(kind, body, namespace)

    async def replace(
        self, kind: Kind, body: Mapping[str, Any], *, subresource: str | None = None, dry_run: bool = False
    ) -> JsonObject:
        async with self._step("PUT", kind, str(body["metadata"]["name"])):
            return await super().replace(kind, body, subresource=subresource, dry_run=dry_run)

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Mapping[str, Any],
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        subresource: str | None = None,
    ) -> JsonObject:
        async with self._step("PATCH", kind, name):
            return await super().patch(
                kind, name, patch, namespace, resource_version=resource_version, subresource=subresource
            )

    async def json_patch_status(
        self, kind: Kind, name: str, operations: Sequence[Mapping[str, Any]], namespace: str | None = None
    ) -> JsonObject:
        async with self._step("PATCH", kind, name):
            return await super().json_patch_status(kind, name, operations, namespace)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        uid: str | None = None,
    ) -> None:
        async with self._step("DELETE", kind, name):
            await super().delete(kind, name, namespace, resource_version=resource_version, uid=uid)

    async def raw_get(self, path: str) -> tuple[int, str]:
        if path not in self._discovery:
            self._discovery[path] = await super().raw_get(path)
        return self._discovery[path]

    @asynccontextmanager
    async def _step(self, verb: str, kind: Kind, name: str) -> AsyncIterator[None]:
        role = self._wiring.roles.get(name)
        if role is None:
            role = "" if kind in (RUN, WEBHOOK_DELIVERY) else kind.kind
        if not role:
            yield
            return
        async with self._wiring.course.step(f"{API}{verb} {kind.plural} {role}"):
            yield


class CourseLead:
    """The lease as determined by the course; confirming it is a step."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def is_certain(self) -> bool:
        return self._course.leads

    async def confirm(self) -> None:
        async with self._course.step(f"{API}GET leases lease"):
            if not self._course.leads:
                raise KubeConflict("the lease is not ours")


class SteppingPermits(Permits):
    """Makes steps of acquiring and releasing a permit."""

    def __init__(self, limits: PermitLimits | None = None) -> None:
        super().__init__(limits)
        self._course = _wiring.get().course

    @asynccontextmanager
    async def held(self, place: Place) -> AsyncIterator[None]:
        which = "first" if place.first else "retry"
        await self._course.point(f"permit asked for a {which}")
        async with super().held(place):
            await self._course.point(f"permit taken for a {which}")
            yield
        await self._course.point(f"permit released by a {which}")


class SteppingSender(Sender):
    """The real sender, traced by aiohttp; all names resolve to loopback."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._wiring = _wiring.get()
        seams = {"resolver": _Loopback(self._wiring.course), "ssl_context": _authorities()}
        super().__init__(*arguments, **{**options, **seams})

    async def send(self, url: str, body: bytes, secret: bytes, key_id: str) -> Outcome:
        envelope = json.loads(body)
        seq, number = envelope["seq"], envelope["delivery_attempt"]
        token = _transmission.set(f"net event {seq} attempt {number}")
        try:
            self._wiring.sent(seq, number)
            async with self._wiring.course.step(f"{_transmission.get()} send"):
                return await super().send(url, body, secret, key_id)
        finally:
            _transmission.reset(token)

    def _open_session(self) -> aiohttp.ClientSession:
        fresh = self._session is None
        session = super()._open_session()
        if fresh:
            session.trace_configs.append(_trace(self._wiring.course))
        return session


def _trace(course: Course) -> aiohttp.TraceConfig:
    """Points on the network: around the connection, before each write, after the response head."""
    config = aiohttp.TraceConfig()

    def at(what: str) -> Callable[..., Any]:
        async def pass_point(*_: Any) -> None:
            await course.point(f"{_transmission.get()} {what}")

        return pass_point

    config.on_connection_create_start.append(at("connecting"))
    config.on_connection_create_end.append(at("connected"))
    config.on_connection_reuseconn.append(at("connection used again"))
    config.on_request_headers_sent.append(at("head written"))
    config.on_request_chunk_sent.append(at("body written"))
    config.on_request_end.append(at("answer read"))
    config.on_request_exception.append(at("broken"))
    config.freeze()
    return config


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Cached: loading the CAs takes longer than a case."""
    return tls_context()


class _Loopback(AbstractResolver):
    def __init__(self, course: Course) -> None:
        self._course = course

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        async with self._course.step("net resolve"):
            await asyncio.sleep(0)
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None:
        return None


class SharedWatch:
    """Replaces EmbeddedKopf."""

    is_ready = True

    def __init__(self, observe: Observe, **_: Any) -> None:
        self._observe = observe
        self._follow = _wiring.get().follow

    async def run(self) -> None:
        async for _ in self._follow(self._observe):
            pass


class SharedWatchOfSettled:
    """Replaces SettledDeliveries."""

    def __init__(self, *, observe: Callable[[str | None, JsonObject], None], **_: Any) -> None:
        self._observe = observe
        self._follow = _wiring.get().follow_settled

    async def run(self) -> None:
        async for _ in self._follow(self._observe):
            pass
