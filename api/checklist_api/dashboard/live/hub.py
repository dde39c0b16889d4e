"""Fans changes out to viewers by organization. One hub for each process.

Viewers are woken in small groups, so that hundreds of viewers do not delay other requests, and at most twice a second,
which coalesces frequent changes. `changes.RecentChanges` bounds what is kept.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from .live_changes import KEPT, LiveChange, RecentChanges, Scope

_WAKE_BATCH: Final = 10
_WAKE_PAUSE_S: Final = 0.005
_WAKE_INTERVAL_S: Final = 0.5
_RESUMABLE_S: Final = 300.0
"""How long a channel without viewers is kept, so that they can resume."""


@dataclass(eq=False, slots=True)
class Viewer:
    """One open stream."""

    scope: Scope
    session: str
    """SHA-256 digest of the session."""
    subject: str
    """Subject of the session at its identity provider."""
    is_open: Callable[[], bool]
    sent: int = 0
    """Number of the last change sent."""
    ended: str | None = None
    """Reason to end the stream."""
    needs_revalidation: bool = False
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, reason: str) -> None:
        self.ended = self.ended or reason
        self.wake()

    def revalidate(self) -> None:
        self.needs_revalidation = True
        self.wake()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, seconds: float) -> None:
        """Wait until woken, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()


class Channel:
    """Changes and viewers of one organization."""

    def __init__(self, kept: int) -> None:
        self.epoch = secrets.token_hex(6)
        """Distinguishes numbers of this channel from those of another process or an earlier channel."""
        self.viewers: set[Viewer] = set()
        self._recent = RecentChanges(kept)
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._batches: dict[tuple[int, Scope], bytes | None] = {}

    @property
    def last(self) -> int:
        return self._recent.last

    def add(self, change: LiveChange) -> None:
        self._recent.add(change)
        self._batches.clear()
        self._changed.set()

    def take(self, viewer: Viewer) -> bytes | None:
        """Return the changes after the viewer's position as a JSON array, and advance the position.

        Empty if there are none; None if some of them were evicted.
        """
        begin, viewer.sent = viewer.sent, self.last
        if begin == viewer.sent:
            return b""
        # Most viewers have the same position and scope.
        key = (begin, viewer.scope)
        if key not in self._batches:
            found = self._recent.after(begin, viewer.scope)
            self._batches[key] = None if found is None else b"[" + b",".join(found) + b"]" if found else b""
        return self._batches[key]

    def position(self, last_event_id: str) -> int | None:
        """Return the number in an event id of this channel; None for any other."""
        epoch, _, number = last_event_id.partition(".")
        return int(number) if epoch == self.epoch and number.isdecimal() and len(number) < 16 else None

    def id_of(self, number: int) -> str:
        return f"{self.epoch}.{number}"

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._wake_viewers(), name="wake viewers")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _wake_viewers(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            for number, viewer in enumerate(tuple(self.viewers), start=1):
                viewer.wake()
                if number % _WAKE_BATCH == 0:
                    await asyncio.sleep(_WAKE_PAUSE_S)
            await asyncio.sleep(_WAKE_INTERVAL_S)


class LiveHub:
    """Channels of the process by organization. A channel exists while it has viewers, and for `resumable_s` after."""

    def __init__(self, *, kept: int = KEPT, resumable_s: float = _RESUMABLE_S) -> None:
        self._kept = kept
        self._resumable_s = resumable_s
        self._channels: dict[str, Channel] = {}
        self._to_end: dict[str, asyncio.TimerHandle] = {}
        self.closing = False

    def add(self, organization: str, change: LiveChange) -> None:
        channel = self._channels.get(organization)
        if channel is not None:
            channel.add(change)

    def is_watched(self, organization: str) -> bool:
        """Whether the organization has a channel."""
        return organization in self._channels

    def viewers(self, organization: str | None = None) -> Iterator[Viewer]:
        """Viewers with an open connection, of one organization or of all."""
        channels = self._channels.values() if organization is None else [self._channels.get(organization)]
        for channel in channels:
            for viewer in tuple(channel.viewers) if channel is not None else ():
                if viewer.is_open():
                    yield viewer

    @contextlib.contextmanager
    def watching(self, organization: str, viewer: Viewer) -> Iterator[Channel]:
        """Register the viewer for changes while the block runs."""
        if (timer := self._to_end.pop(organization, None)) is not None:
            timer.cancel()
        channel = self._channels.get(organization)
        if channel is None:
            channel = self._channels[organization] = Channel(self._kept)
        viewer.sent = channel.last
        channel.viewers.add(viewer)
        channel.start()
        try:
            yield channel
        finally:
            channel.viewers.discard(viewer)
            if not channel.viewers and not self.closing:
                later = asyncio.get_running_loop().call_later
                self._to_end[organization] = later(self._resumable_s, self._forget, organization)

    def close(self) -> None:
        """End all streams and accept no new ones."""
        self.closing = True
        for channel in self._channels.values():
            channel.stop()
            for viewer in channel.viewers:
                viewer.end("shutdown")
        for timer in self._to_end.values():
            timer.cancel()

    def _forget(self, organization: str) -> None:
        self._channels.pop(organization).stop()
        del self._to_end[organization]
