"""Finds free TCP ports on loopback, and checks whether servers answer."""

import fcntl
import http.client
import os
import random
import socket
import tempfile
from collections import deque
from pathlib import Path
from typing import IO, Final

_NOT_EPHEMERAL: Final = range(10_240, 32_768)
"""Below the ephemeral ports, which the system may give to another process before the server is up."""
_TRIES: Final = 1_000
_reserved: Final[deque[IO[str]]] = deque(maxlen=256)
"""Locked files, of the newest ports. The limit keeps their number small: servers listen long before it is reached."""


def free_ports(count: int) -> list[int]:
    """Distinct ports that are free just now and that no other process has been given by this function.

    Processes of the same user that start servers at the same time, such as the workers of a test run, never get the
    same port. Raises OSError if too few are free.
    """
    ports: set[int] = set()
    for port in random.sample(_NOT_EPHEMERAL, _TRIES):
        if len(ports) == count:
            break
        if port_is_free(port) and _reserve(port):
            ports.add(port)
    if len(ports) < count:
        raise OSError(f"no {count} free ports on loopback")
    return list(ports)


def _reserve(port: int) -> bool:
    """Lock the file of a port until this process ends or has reserved many others."""
    folder = Path(tempfile.gettempdir(), f"checklist-ports-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    file = (folder / str(port)).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _reserved.append(file)
    return True


def port_is_free(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as listener:
        # Connections in TIME_WAIT do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
        return True


def http_get(connection: http.client.HTTPConnection, path: str) -> tuple[int, str]:
    """Status and text of a GET of `path`; (0, "") without an answer. Closes the connection."""
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()
