"""Fans changes out to viewers by organization. One hub for each process.

Viewers are woken a few at a time, so that hundreds of them do not make a request wait that comes at the same moment,
and no more than twice a second, so that what changes often is told once. See `live_changes` for what is kept.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from .changes import KEPT, LiveChange, RecentChanges, Sight

_WOKEN_AT_ONCE: Final = 10
_APART_S: Final = 0.005
_ROUNDS_APART_S: Final = 0.5
_RESUMABLE_S: Final = 300.0
"""How long what happens is remembered for viewers that are to come back."""


@dataclass(eq=False, slots=True)
class Viewer:
    """One open stream."""

    sight: Sight
    session: str
    """The digest of its session."""
    subject: str
    """Whose session it is, as their provider names them."""
    is_open: Callable[[], bool]
    told: int = 0
    ended: str | None = None
    """Why it has to end."""
    needs_revalidation: bool = False
    """Whether something happened after which it may have to end."""
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
        """Until there is something to do, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()


class Channel:
    """An organization's changes, and who is told of them."""

    def __init__(self, kept: int) -> None:
        self.epoch = secrets.token_hex(6)
        """Another process, or the same one later, counts anew."""
        self.viewers: set[Viewer] = set()
        self._recent = RecentChanges(kept)
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._told: dict[tuple[int, Sight], bytes | None] = {}

    @property
    def last(self) -> int:
        return self._recent.last

    def add(self, change: LiveChange) -> None:
        self._recent.add(change)
        self._told.clear()
        self._changed.set()

    def take(self, viewer: Viewer) -> bytes | None:
        """What the viewer has not been told yet, as it is sent; empty when there is nothing, None when more happened
        than is remembered. It counts as told."""
        begin, viewer.told = viewer.told, self.last
        if begin == viewer.told:
            return b""
        # Most viewers were told the same before, and are told the same now.
        key = (begin, viewer.sight)
        if key not in self._told:
            found = self._recent.after(begin, viewer.sight)
            self._told[key] = None if found is None else b"[" + b",".join(found) + b"]" if found else b""
        return self._told[key]

    def position(self, last_event_id: str) -> int | None:
        """The number in an id that this channel gave; None for any other."""
        epoch, _, number = last_event_id.partition(".")
        return int(number) if epoch == self.epoch and number.isdecimal() and len(number) < 16 else None

    def id_of(self, number: int) -> str:
        return f"{self.epoch}.{number}"

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._wake_viewers(), name="tell viewers of changes")

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
                if number % _WOKEN_AT_ONCE == 0:
                    await asyncio.sleep(_APART_S)
            await asyncio.sleep(_ROUNDS_APART_S)


class LiveHub:
    """All channels of the process, by the name of the organization; each is there while somebody watches, and a while
    after, so that a viewer can come back to where it was."""

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
        """Whether it is worth while to make changes of its objects."""
        return organization in self._channels

    def viewers(self, organization: str | None = None) -> Iterator[Viewer]:
        """Those whose connection is open, of one organization or of all."""
        channels = self._channels.values() if organization is None else [self._channels.get(organization)]
        for channel in channels:
            for viewer in tuple(channel.viewers) if channel is not None else ():
                if viewer.is_open():
                    yield viewer

    @contextlib.contextmanager
    def watching(self, organization: str, viewer: Viewer) -> Iterator[Channel]:
        """While the block runs the viewer is told of what happens from now on."""
        if (timer := self._to_end.pop(organization, None)) is not None:
            timer.cancel()
        channel = self._channels.get(organization)
        if channel is None:
            channel = self._channels[organization] = Channel(self._kept)
        viewer.told = channel.last
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
        """Every stream ends, and none begins."""
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
