"""A receiver for trying things out: verifies every delivery, knows duplicates, prints one line for each.

    python examples/receivers/receiver.py --secret "the secret given at dispatch" --port 9000

It answers 204 when a delivery is genuine (a duplicate too), 401 when it is not, and on demand 500 for the first ones.
"""

import argparse
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from verify import verify

MAX_BODY = 2 * 1024 * 1024


class Receiver(ThreadingHTTPServer):
    """Holds what outlives one request: the configuration and the events seen so far."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], *, secret: str, url: str | None, fail: int, delay: float) -> None:
        super().__init__(address, Delivery)
        self.secret = secret
        self.url = url or f"http://{address[0]}:{self.server_port}/hook"
        self.failures_left = fail
        self.delay = delay
        self.seen: set[str] = set()


class Delivery(BaseHTTPRequestHandler):
    """One POST. The order matters: verify the bytes first, and only then look into them."""

    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        if length > MAX_BODY:
            self.close_connection = True
            return self.answer(413, "refused: too large")
        body = self.rfile.read(length)
        try:
            verify("POST", self.server.url, self.headers, body, self.server.secret, now=time.time())
        except ValueError as problem:
            return self.answer(401, f"refused: {problem}")
        event = json.loads(body)
        about = f"{event['event']} {event['event_id']} attempt {event['delivery_attempt']} of {event['run_id']}"
        time.sleep(self.server.delay)
        if self.server.failures_left > 0:
            self.server.failures_left -= 1
            return self.answer(500, f"failed as asked: {about}")
        if event["event_id"] in self.server.seen:
            return self.answer(204, f"duplicate: {about}")
        self.server.seen.add(event["event_id"])
        return self.answer(204, f"verified: {about} {json.dumps(event['data'])}")

    def answer(self, status: int, line: str) -> None:
        print(f"{status} {line}", flush=True)
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """One line for each delivery is enough."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Receives, verifies and prints deliveries of Checklist Dispatch.")
    parser.add_argument("--secret", required=True, help="the secret given in webhook.secret at dispatch")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9000, help="port to listen on, 0 for a free one (default: 9000)")
    parser.add_argument("--url", help="webhook.url as given at dispatch (default: http://HOST:PORT/hook)")
    parser.add_argument("--fail", type=int, default=0, metavar="N", help="answer 500 to the first N deliveries")
    parser.add_argument("--delay", type=float, default=0, metavar="S", help="answer each delivery S seconds late")
    options = parser.parse_args()
    address = (options.host, options.port)
    with Receiver(address, secret=options.secret, url=options.url, fail=options.fail, delay=options.delay) as receiver:
        print(f"listening: {receiver.url}", flush=True)
        try:
            receiver.serve_forever()
        except KeyboardInterrupt:
            print("stopped", flush=True)


if __name__ == "__main__":
    main()
