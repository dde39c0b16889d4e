"""A kept connection whose end lies unread in the socket, since the event loop was busy, costs no attempt."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop
from tests.delivery.sending import INSECURE, Loopback, deliver
from tests.raw_receiver import reset_at_close

from checklist_operator.transport.outcome import Outcome
from checklist_operator.transport.sender import Sender

BODY = b'{"event_type":"run.started"}'


def close(connection: socket.socket) -> None:
    connection.close()


def reset(connection: socket.socket) -> None:
    reset_at_close(connection)
    connection.close()


def say_more(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")


def answer_one(listening: socket.socket) -> socket.socket:
    connection, _ = listening.accept()
    request = b""
    while BODY not in request:
        request += connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    return connection


@pytest.mark.parametrize("spoil", [close, reset, say_more], ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_an_unread_end_of_a_connection_is_noticed(
    spoil: Callable[[socket.socket], None], run: Callable[[Coroutine[Any, Any, list[Outcome]]], list[Outcome]]
) -> None:
    asked, spoilt = threading.Event(), threading.Event()

    def receive() -> None:
        with answer_one(listening) as first:
            asked.wait(30)
            spoil(first)
            spoilt.set()
            answer_one(listening).close()

    async def send_twice() -> list[Outcome]:
        url = f"http://hooks.example:{listening.getsockname()[1]}/"
        async with Sender(INSECURE, resolver=Loopback()) as sender:
            first = await deliver(sender, url, BODY)
            asked.set()
            assert spoilt.wait(30)  # and the event loop stands still meanwhile
            return [first, await deliver(sender, url, BODY)]

    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiver = threading.Thread(target=receive, daemon=True)
        receiver.start()
        outcomes = run(send_twice())
        receiver.join(30)
    assert [one.outcome_class for one in outcomes] == ["success"] * 2
