"""A receiver for trying things out: verifies every delivery, knows duplicates, prints one line for each.

    python examples/receivers/receiver.py --secret "the secret given at dispatch" --port 9000

It answers 204 when a delivery is genuine (a duplicate too), 401 when it is not, and on demand 500 for the first ones.
What has come is kept in a folder (`--inbox`); the work on it begins after the answer.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from inbox import Inbox, Nonces, read_event
from verify import verify

MAX_BODY = 2 * 1024 * 1024


class Receiver(ThreadingHTTPServer):
    """Holds what outlives one request: the configuration and what has come so far."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], inbox: Inbox, options: argparse.Namespace) -> None:
        super().__init__(address, Delivery)
        self.inbox = inbox
        self.nonces = Nonces()
        self.secret: str = options.secret
        self.url: str = options.url or f"http://{address[0]}:{self.server_port}/hook"
        self.failures_left: int = options.fail
        self.delay: float = options.delay


class Delivery(BaseHTTPRequestHandler):
    """One POST. The order matters: verify the bytes first, and only then look into them."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    server: Receiver

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY:
            self.close_connection = True
            return self.answer(413, "refused: too large, or of no stated length")
        body = self.rfile.read(int(length))
        now = time.time()
        try:
            key_id, nonce = verify("POST", self.server.url, self.headers, body, self.server.secret, now=now)
        except ValueError as problem:
            return self.answer(401, f"refused: {problem}")
        if not self.server.nonces.is_new(nonce, now):
            return self.answer(401, "refused: nonce: this very transmission has come before")
        try:
            event = read_event(body, key_id)
        except ValueError as problem:
            return self.answer(400, f"refused: {problem}")
        about = f"{event['event']} {event['event_id']} attempt {event['delivery_attempt']} of {event['run_id']}"
        time.sleep(self.server.delay)
        if self.server.failures_left > 0:
            self.server.failures_left -= 1
            return self.answer(500, f"failed as asked: {about}")
        if not self.server.inbox.add(event["event_id"], body):
            return self.answer(204, f"duplicate: {about}")
        return self.answer(204, f"verified: {about} {json.dumps(event.get('data'))}")

    def answer(self, status: int, line: str) -> None:
        say(f"{status} {line}")
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """One line for each delivery is enough."""


def say(line: str) -> None:
    """In one piece: threads that `print` can come between a line and its end."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Receives, verifies and prints deliveries of Checklist Dispatch.")
    from_env = os.environ.get("WEBHOOK_SECRET")
    parser.add_argument(
        "--secret",
        default=from_env,
        required=from_env is None,
        help="the secret given in webhook.secret at dispatch (default: the environment variable WEBHOOK_SECRET)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9000, help="port to listen on, 0 for a free one (default: 9000)")
    parser.add_argument("--url", help="webhook.url as given at dispatch (default: http://HOST:PORT/hook)")
    parser.add_argument("--fail", type=int, default=0, metavar="N", help="answer 500 to the first N deliveries")
    parser.add_argument("--delay", type=float, default=0, metavar="S", help="answer each delivery S seconds late")
    parser.add_argument("--inbox", type=Path, metavar="DIR", help="keep the events here (default: until the end only)")
    parser.add_argument(
        "--work", type=float, default=0, metavar="S", help="work S seconds on each event, once answered"
    )
    options = parser.parse_args()

    def work(event: dict[str, Any]) -> None:
        time.sleep(options.work)  # what your system does with an event
        say(f"worked on: {event['event_id']}")

    with ExitStack() as stack:
        folder = options.inbox or Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        receiver = stack.enter_context(Receiver((options.host, options.port), Inbox(folder, work), options))
        say(f"listening: {receiver.url}")
        try:
            receiver.serve_forever()
        except KeyboardInterrupt:
            say("stopped")


if __name__ == "__main__":
    main()
