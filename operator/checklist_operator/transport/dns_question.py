"""One question to a name server: c-ares on the event loop, without threads.

A channel of c-ares belongs to one question and ends with it. A shared one would keep "this name has no address" for an
hour whatever the name's servers said, which pycares gives no way to change, and would ask everything from one port,
which makes answers easier to forge. A channel costs 60 microseconds and, while it waits, a few kilobytes.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final, Self

import pycares

# c-ares waits this long for the first answer of a server, and twice as long at each further try.
_FIRST_TRY_S: Final = 1.0
_TRIES: Final = 4
_TICK_S: Final = (0.01, 1.0)

# Without sorting: c-ares orders addresses by opening a socket to each of them, before anybody has judged them.
_NO_SORT: Final = 1 << 7  # ARES_AI_NOSORT of ares.h, which pycares does not name
_ABSOLUTE: Final = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOALIASES | pycares.ARES_FLAG_NOSEARCH
_SEARCHING: Final = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOALIASES


class NoAnswer(Exception):
    """The question failed; `number` is one of `pycares.errno`."""

    def __init__(self, number: int) -> None:
        super().__init__(pycares.errno.strerror(number))
        self.number = number


class Question:
    """Asks once; a context manager, so that nothing of it outlives the one who asked.

    `servers`: `address:port` of name servers, none for those of the system. `search`: with the system's search list.
    """

    def __init__(self, *, servers: tuple[str, ...] = (), search: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched: dict[int, tuple[bool, bool]] = {}
        self._tick: asyncio.TimerHandle | None = None
        self._answer: asyncio.Future[Any] = self._loop.create_future()
        self._channel = pycares.Channel(
            flags=_SEARCHING if search else _ABSOLUTE,
            timeout=_FIRST_TRY_S,
            tries=_TRIES,
            servers=servers or None,
            sock_state_cb=self._watch,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._answer.done():
            self._answer.cancel()
        if self._tick is not None:
            self._tick.cancel()
        self._channel.cancel()  # closes the sockets here; `close` would do it in a thread of pycares
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        self._channel.close()

    async def addresses(self, name: str, family: socket.AddressFamily) -> pycares.AddrInfoResult:
        """Addresses of `name` with the names that led to them. Raises NoAnswer."""
        found: pycares.AddrInfoResult = await self._ask(
            lambda done: self._channel.getaddrinfo(
                name, None, family=family, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=done
            )
        )
        return found

    async def root(self) -> None:
        """Asks for the servers of the root, which every name server knows. Raises NoAnswer."""
        await self._ask(lambda done: self._channel.query(".", pycares.QUERY_TYPE_NS, callback=done))

    async def _ask(self, submit: Callable[[Callable[[Any, int | None], None]], None]) -> Any:
        try:
            submit(self._done)
        except pycares.AresError as error:
            self._done(None, error.args[0])
        self._keep_ticking()
        return await self._answer

    def _done(self, result: Any, number: int | None) -> None:
        if self._answer.done():
            return
        if number is None:
            self._answer.set_result(result)
        else:
            self._answer.set_exception(NoAnswer(number))

    def _watch(self, descriptor: int, readable: bool, writable: bool) -> None:
        """c-ares opened a socket, wants something else of it, or is about to close it."""
        self._unwatch(descriptor)
        if readable:
            self._loop.add_reader(descriptor, self._channel.process_fd, descriptor, pycares.ARES_SOCKET_BAD)
        if writable:
            self._loop.add_writer(descriptor, self._channel.process_fd, pycares.ARES_SOCKET_BAD, descriptor)
        if readable or writable:
            self._watched[descriptor] = (readable, writable)

    def _unwatch(self, descriptor: int) -> None:
        readable, writable = self._watched.pop(descriptor, (False, False))
        if readable:
            self._loop.remove_reader(descriptor)
        if writable:
            self._loop.remove_writer(descriptor)

    def _keep_ticking(self) -> None:
        """c-ares notices that a server does not answer only when it is called."""
        if not self._answer.done():
            least, most = _TICK_S
            self._tick = self._loop.call_later(min(max(self._channel.timeout(), least), most), self._on_tick)

    def _on_tick(self) -> None:
        self._channel.process_fd(pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)
        self._keep_ticking()
