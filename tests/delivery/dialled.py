"""Every connect of this process, counted at the socket: Python's audit event is raised before the system call."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

Dialled = tuple[str, int]
"""Address and port."""

_listening: list[list[Dialled]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect" or not _listening:
        return
    made, target = arguments
    if isinstance(made, socket.socket) and made.type == socket.SOCK_STREAM and isinstance(target, tuple):
        for heard in _listening:
            heard.append((target[0], target[1]))


sys.addaudithook(_hook)


@contextmanager
def dialled_addresses() -> Iterator[list[Dialled]]:
    """The TCP connects that this process tries meanwhile."""
    heard: list[Dialled] = []
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.remove(heard)
