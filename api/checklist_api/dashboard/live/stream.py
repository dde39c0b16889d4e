"""Sends one stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

event: changes    data: [{kind, id, change: "changed" | "gone", ...}, ...]; the newest of each object
event: reset      more may have changed than is remembered: read anew
event: beat       nothing; at least every 15 seconds
event: end        data: session | access | unavailable | shutdown; the stream ends

`id` is where the stream stands after the event; whoever comes back with it misses nothing, or is told `reset`.
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
    # Proxies of nginx' family would gather what they get.
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}
BEAT_S: Final = 15.0
UNREAD_S: Final = 20.0
_RETRY_MS: Final = 3_000
_UNREAD_BYTES: Final = 32 * 1024
"""What may wait for a viewer, here and once more in the kernel; above, it is told nothing until it has read."""

WhyNot = Callable[[], Awaitable[str | None]]
"""Why the viewer may look no longer; None: it may. Raises KubeError, ServiceError."""


class LiveStream:
    """The stream of one request, whose `response` is prepared. Made and used while the viewer watches the channel."""

    def __init__(
        self,
        response: web.StreamResponse,
        transport: asyncio.Transport,
        viewer: Viewer,
        channel: Channel,
        why_not: WhyNot,
        *,
        beat_s: float = BEAT_S,
        unread_s: float = UNREAD_S,
    ) -> None:
        """`beat_s`: no longer without a word. `unread_s`: how long a viewer may leave unread what it was sent."""
        self._response = response
        self._transport = transport
        self._viewer = viewer
        self._channel = channel
        self._why_not = why_not
        self._beat_s = beat_s
        self._unread_s = unread_s
        self._now = asyncio.get_running_loop().time
        self._looked_at = self._wrote_at = self._now()
        self._unread_since: float | None = None
        bound_kernel_memory(transport)

    async def send(self, last_event_id: str) -> str:
        """From `last_event_id` on, or from the present, until it ends; says why it did."""
        try:
            await self._begin(last_event_id)
            reason = await self._go_on()
            if reason not in ("gone", "slow"):
                await self._write(b"event: end\ndata: " + reason.encode() + b"\n\n")
        except TimeoutError:
            reason = "slow"
        except ConnectionError:
            reason = "gone"
        if reason == "slow":
            # A proper end would wait for the viewer to read.
            self._transport.abort()
        return reason

    async def _begin(self, last_event_id: str) -> None:
        retry = f"retry: {_RETRY_MS}\n\n".encode()
        position = self._channel.position(last_event_id)
        if position is None:
            await self._write(retry + self._event("reset"))
        else:
            self._viewer.told = position
            self._viewer.wake()
            await self._write(retry)

    async def _go_on(self) -> str:
        viewer = self._viewer
        while True:
            # Streams that began together need not beat together.
            await viewer.wait(self._beat_s * random.uniform(0.7, 1.0))
            reason = viewer.ended or await self._reason_to_end()
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

    async def _reason_to_end(self) -> str | None:
        """Looked for when something happened, and at each beat."""
        if not self._viewer.needs_revalidation and self._now() - self._looked_at < self._beat_s * 0.6:
            return None
        self._viewer.needs_revalidation = False
        self._looked_at = self._now()
        try:
            return await self._why_not()
        except (KubeError, ServiceError):
            # Nobody can tell now: whoever comes back is told so, as with any other request.
            return "unavailable"

    def _is_unread(self) -> bool:
        """Whether the viewer has to read first. Raises TimeoutError when it did not for long."""
        if self._transport.get_write_buffer_size() <= _UNREAD_BYTES:
            self._unread_since = None
            return False
        if self._unread_since is None:
            self._unread_since = self._now()
        if self._now() - self._unread_since > self._unread_s:
            raise TimeoutError
        return True

    def _event(self, name: str, data: bytes = b"") -> bytes:
        stands = self._channel.id_of(self._viewer.told)
        return f"id: {stands}\nevent: {name}\ndata: ".encode() + data + b"\n\n"

    async def _write(self, data: bytes) -> None:
        if self._transport.get_write_buffer_size() + len(data) < _UNREAD_BYTES:
            await self._response.write(data)  # which does not wait for the viewer then
        else:
            async with asyncio.timeout(self._unread_s):
                await self._response.write(data)
        self._wrote_at = self._now()


def bound_kernel_memory(transport: asyncio.Transport) -> None:
    """The kernel would keep megabytes for a viewer that does not read."""
    line = transport.get_extra_info("socket")
    if line is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
