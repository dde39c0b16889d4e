"""A kept connection whose end lies unread in the socket, since the event loop was busy, costs no attempt."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from tests.delivery.memory_child import Loopback

from checklist_operator.delivery.addresses import AddressPolicy
from checklist_operator.delivery.outcome import Outcome, OutcomeClass
from checklist_operator.delivery.sender import Sender

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BODY = b'{"event_type":"run.started"}'
SECRET = b"sixteen or more characters"


def close(connection: socket.socket) -> None:
    connection.close()


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def say_more(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")


class Receiver(threading.Thread):
    """Answers one request on each connection, and spoils the first connection when it is told to."""

    def __init__(self, spoil: Callable[[socket.socket], None]) -> None:
        super().__init__(daemon=True)
        self._spoil = spoil
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://hooks.example:{self._listening.getsockname()[1]}/"
        self.asked = threading.Event()
        self.spoilt = threading.Event()

    def run(self) -> None:
        first = self._answer()
        self.asked.wait(30)
        self._spoil(first)
        self.spoilt.set()
        second = self._answer()
        for connection in (first, second, self._listening):
            connection.close()

    def _answer(self) -> socket.socket:
        connection, _ = self._listening.accept()
        request = b""
        while BODY not in request:
            request += connection.recv(65_536)
        connection.sendall(OK)
        return connection


@pytest.mark.parametrize("spoil", [close, reset, say_more], ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_an_end_that_nobody_has_read_yet_is_noticed(
    spoil: Callable[[socket.socket], None], run: Callable[[Coroutine[Any, Any, list[Outcome]]], list[Outcome]]
) -> None:
    receiver = Receiver(spoil)
    receiver.start()

    async def send_twice() -> list[Outcome]:
        async with Sender(AddressPolicy(allow_insecure=True), resolver=Loopback()) as sender:
            first = await sender.send(receiver.url, BODY, SECRET, "r-1")
            receiver.asked.set()
            assert receiver.spoilt.wait(30)  # and the event loop stands still meanwhile
            return [first, await sender.send(receiver.url, BODY, SECRET, "r-1")]

    outcomes = run(send_twice())
    receiver.join(30)
    assert [one.outcome_class for one in outcomes] == [OutcomeClass.SUCCESS] * 2
