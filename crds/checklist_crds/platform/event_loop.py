"""Runs a program in uvloop, with sockets whose file descriptors are closed once.

aiohttp connects a socket, then gives it to `create_connection`. If a TLS handshake then fails at once, as when the
peer resets the connection, uvloop 0.23 closes the file descriptor, but leaves it to the socket object as well. That
closes it a second time when it is collected: by then the number may belong to another connection
(https://github.com/MagicStack/uvloop/pull/646, a repair that was not merged).
"""

from typing import Any

import uvloop


class EventLoop(uvloop.Loop):
    """For `uvloop.run(..., loop_factory=EventLoop)`."""

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """As in uvloop, which owns the file descriptor of the option `sock` from then on."""
        sock = options.get("sock")
        try:
            return await super().create_connection(*arguments, **options)
        finally:
            if sock is not None:
                sock.detach()
