"""A receiver with aiohttp. Settings are environment variables: WEBHOOK_SECRET, WEBHOOK_URL, PORT, INBOX.

WEBHOOK_SECRET="the secret given at dispatch" python examples/receivers/aiohttp_receiver.py
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from aiohttp import web

sys.path.insert(0, str(Path(__file__).parent))
from inbox import Inbox, Nonces, read_event
from verify import verify

MAX_BODY = 2 * 1024 * 1024
SECRET = os.environ["WEBHOOK_SECRET"]
PORT = int(os.environ.get("PORT", "9000"))
WORK_SECONDS = float(os.environ.get("WORK_SECONDS", "0"))


def work(event: dict[str, Any]) -> None:
    """What your system does with an event; in the inbox's thread, after the answer."""
    time.sleep(WORK_SECONDS)
    say(f"worked on: {event['event_id']}")


class Receiver:
    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.nonces = Nonces()
        self.url = os.environ.get("WEBHOOK_URL", "")

    async def receive(self, request: web.Request) -> web.Response:
        body = await request.read()  # the bytes as they came; 413 when there are too many
        now = time.time()
        try:
            key_id, nonce = verify(request.method, self.url, request.headers, body, SECRET, now=now)
        except ValueError as problem:
            return answer(401, f"refused: {problem}")
        if not self.nonces.is_new(nonce, now):
            return answer(401, "refused: nonce: this very transmission has come before")
        try:
            event = read_event(body, key_id)
        except ValueError as problem:
            return answer(400, f"refused: {problem}")
        about = f"{event['event']} {event['event_id']} attempt {event['delivery_attempt']} of {event['run_id']}"
        # A disk may be slow: in a thread, so that other requests go on.
        is_new = await asyncio.to_thread(self.inbox.add, event["event_id"], body)
        return answer(204, f"{'verified' if is_new else 'duplicate'}: {about}")


def answer(status: int, line: str) -> web.Response:
    say(f"{status} {line}")
    return web.Response(status=status)


def say(line: str) -> None:
    """In one piece: threads that `print` can come between a line and its end."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main() -> None:
    receiver = Receiver(Inbox(Path(os.environ.get("INBOX", "inbox")), work))
    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/hook", receiver.receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    receiver.url = receiver.url or f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    say(f"listening: {receiver.url}")
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        say("stopped")
