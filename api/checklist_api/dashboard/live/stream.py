"""Sends one stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

event: changes    data: [{kind, id, change: "changed" | "gone", ...}, ...]; the newest change of each object
event: reset      changes were evicted: the client must reload
event: beat       heartbeat, at least every 15 seconds
event: end        data: session | access | unavailable | shutdown; the stream ends

`id` is the position after the event. A client that reconnects with it receives all later changes, or `reset`.
"""

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from checklist_crds.errors import ServiceError
from checklist_crds.kube.errors import KubeError

from .hub import Channel, Viewer

HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    # nginx and similar proxies would buffer the response.
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
BEAT_S: Final = 15.0
UNREAD_S: Final = 20.0
_RETRY_MS: Final = 3_000
_UNREAD_BYTES: Final = 32 * 1024
"""Send-buffer limit, applied here and in the kernel. Above it, nothing is sent until the viewer has read."""

EndReason = Callable[[], Awaitable[str | None]]
"""Returns why the viewer's access ended; None while it has access. Raises KubeError, ServiceError."""


class LiveStream:
    """The stream of one request, whose `response` is prepared. Used within `LiveHub.watching`."""

    def __init__(
        self,
        response: web.StreamResponse,
        transport: asyncio.Transport,
        viewer: Viewer,
        channel: Channel,
        end_reason: EndReason,
        *,
        beat_s: float = BEAT_S,
        unread_s: float = UNREAD_S,
    ) -> None:
        """`beat_s`: longest interval without an event. `unread_s`: how long a viewer may leave sent data unread."""
        self._response = response
        self._transport = transport
        self._viewer = viewer
        self._channel = channel
        self._end_reason = end_reason
        self._beat_s = beat_s
        self._unread_s = unread_s
        self._now = asyncio.get_running_loop().time
        self._checked_at = self._wrote_at = self._now()
        self._unread_since: float | None = None
        bound_kernel_memory(transport)

    async def send(self, last_event_id: str) -> str:
        """Send events after `last_event_id`, or from now on, until the stream ends; returns the reason."""
        try:
            await self._start(last_event_id)
            reason = await self._loop()
            if reason not in ("gone", "slow"):
                await self._write(b"event: end\ndata: " + reason.encode() + b"\n\n")
        except TimeoutError:
            reason = "slow"
        except ConnectionError:
            reason = "gone"
        if reason == "slow":
            # A clean close would wait for the viewer to read.
            self._transport.abort()
        return reason

    async def _start(self, last_event_id: str) -> None:
        retry = f"retry: {_RETRY_MS}\n\n".encode()
        position = self._channel.position(last_event_id)
        if position is None:
            await self._write(retry + self._event("reset"))
        else:
            self._viewer.sent = position
            self._viewer.wake()
            await self._write(retry)

    async def _loop(self) -> str:
        viewer = self._viewer
        while True:
            # Jitter, so that streams opened together do not send heartbeats together.
            await viewer.wait(self._beat_s * random.uniform(0.7, 1.0))
            reason = viewer.ended or await self._check_access()
            if reason is not None:
                return reason
            if not viewer.is_open():
                return "gone"
            if self._is_unread():
                continue
            changes = self._channel.take(viewer)
            if changes is None:
                await self._write(self._event("reset"))
            elif changes:
                await self._write(self._event("changes", changes))
            elif self._now() - self._wrote_at >= self._beat_s * 0.6:
                await self._write(b"event: beat\ndata:\n\n")

    async def _check_access(self) -> str | None:
        """Return the reason to end. Checked after `revalidate` and at each heartbeat."""
        if not self._viewer.needs_revalidation and self._now() - self._checked_at < self._beat_s * 0.6:
            return None
        self._viewer.needs_revalidation = False
        self._checked_at = self._now()
        try:
            return await self._end_reason()
        except (KubeError, ServiceError):
            return "unavailable"

    def _is_unread(self) -> bool:
        """Whether the viewer has too much unread data. Raises TimeoutError when it has had for `unread_s`."""
        if self._transport.get_write_buffer_size() <= _UNREAD_BYTES:
            self._unread_since = None
            return False
        if self._unread_since is None:
            self._unread_since = self._now()
        if self._now() - self._unread_since > self._unread_s:
            raise TimeoutError
        return True

    def _event(self, name: str, data: bytes = b"") -> bytes:
        event_id = self._channel.id_of(self._viewer.sent)
        return f"id: {event_id}\nevent: {name}\ndata: ".encode() + data + b"\n\n"

    async def _write(self, data: bytes) -> None:
        if self._transport.get_write_buffer_size() + len(data) < _UNREAD_BYTES:
            await self._response.write(data)  # does not block below the limit
        else:
            async with asyncio.timeout(self._unread_s):
                await self._response.write(data)
        self._wrote_at = self._now()


def bound_kernel_memory(transport: asyncio.Transport) -> None:
    """Bound the kernel's send buffer, which otherwise grows to megabytes for a viewer that does not read."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
