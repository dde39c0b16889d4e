"""Free TCP ports on loopback."""

import random
import socket
from typing import Final

_BELOW_WHAT_THE_SYSTEM_HANDS_OUT: Final = range(10_240, 32_768)
"""Ports that nobody gets by asking for any, nor for a connection of its own. Else one that is free now is often given
to somebody else before its server is up."""
_TRIES: Final = 1_000


def free_ports(count: int) -> list[int]:
    """Different ports that were free a moment ago. Another process may still be faster: be ready to try again.

    Raises OSError when there are not enough.
    """
    ports: set[int] = set()
    for port in random.sample(_BELOW_WHAT_THE_SYSTEM_HANDS_OUT, _TRIES):
        if len(ports) == count:
            break
        if port_is_free(port):
            ports.add(port)
    if len(ports) < count:
        raise OSError(f"no {count} free ports on loopback")
    return list(ports)


def port_is_free(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as listener:
        # As servers do it: connections of a former server that are in TIME_WAIT do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
        return True
