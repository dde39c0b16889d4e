"""Finds free TCP ports on loopback, and checks whether servers answer."""

import http.client
import random
import socket
from typing import Final

_NOT_EPHEMERAL: Final = range(10_240, 32_768)
"""Below the ephemeral ports, which the system may give to another process before the server is up."""
_TRIES: Final = 1_000


def free_ports(count: int) -> list[int]:
    """Distinct ports, free just now; another process may still take one. Raises OSError if too few are free."""
    ports: set[int] = set()
    for port in random.sample(_NOT_EPHEMERAL, _TRIES):
        if len(ports) == count:
            break
        if port_is_free(port):
            ports.add(port)
    if len(ports) < count:
        raise OSError(f"no {count} free ports on loopback")
    return list(ports)


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
