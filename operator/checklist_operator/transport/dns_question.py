"""One DNS query: c-ares on the event loop, without threads.

Each query has its own c-ares channel. A shared one would cache "this name has no address" for an hour, whatever the
servers said, which pycares cannot change, and would send all queries from one port, which makes spoofing easier. A
channel costs 60 microseconds and a few kilobytes.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final, Self

import pycares

# c-ares waits this long for the first answer of a server, and twice as long at each retry.
_FIRST_TRY_S: Final = 1.0
_TRIES: Final = 4
_TICK_S: Final = (0.01, 1.0)

# Unsorted: to sort addresses, c-ares opens a socket to each of them before they are checked.
_NO_SORT: Final = 1 << 7  # ARES_AI_NOSORT of ares.h, which pycares does not name
_ABSOLUTE: Final = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOALIASES | pycares.ARES_FLAG_NOSEARCH
_SEARCHING: Final = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOALIASES


class NoAnswer(Exception):
    """The query failed; `number` is one of `pycares.errno`."""

    def __init__(self, number: int) -> None:
        super().__init__(pycares.errno.strerror(number))
        self.number = number


class Question:
    """One query, as a context manager that releases everything it used.

    `servers`: `address:port` of name servers, empty for the system's. `search`: use the system's search list.
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
        """Returns the addresses of `name` and its CNAMEs. Raises NoAnswer."""
        found: pycares.AddrInfoResult = await self._ask(
            lambda done: self._channel.getaddrinfo(
                name, None, family=family, type=socket.SOCK_STREAM, flags=_NO_SORT, callback=done
            )
        )
        return found

    async def root(self) -> None:
        """Asks for the root servers, which every name server knows. Raises NoAnswer."""
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
        """Called when c-ares opens a socket, waits for something else, or closes it."""
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
        """Calls c-ares regularly: otherwise it does not notice timeouts."""
        if not self._answer.done():
            least, most = _TICK_S
            self._tick = self._loop.call_later(min(max(self._channel.timeout(), least), most), self._on_tick)

    def _on_tick(self) -> None:
        self._channel.process_fd(pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)
        self._keep_ticking()
