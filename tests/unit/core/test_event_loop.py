"""Sockets given to the event loop: their file descriptors are closed once."""

import asyncio
import gc
import os
import socket
import ssl

import pytest
import uvloop
from tests.raw_receiver import reset_at_close

from checklist_crds.platform.event_loop import EventLoop


async def reset_handshakes(count: int) -> None:
    loop = asyncio.get_running_loop()
    context = ssl.create_default_context()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        for _ in range(count):
            sock = socket.socket()
            sock.setblocking(False)
            await loop.sock_connect(sock, listening.getsockname())
            peer, _ = listening.accept()
            reset_at_close(peer)
            peer.close()
            number = sock.fileno()
            with pytest.raises(ConnectionResetError):
                await loop.create_connection(asyncio.Protocol, sock=sock, ssl=context, server_hostname="example.com")
            os.dup2(listening.fileno(), number)  # as if another connection had got the number
            del sock
            gc.collect()
            os.close(number)  # raises if it is closed already


def test_a_reset_handshake_closes_its_file_descriptor_once() -> None:
    uvloop.run(reset_handshakes(3), loop_factory=EventLoop)
