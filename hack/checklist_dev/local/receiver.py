"""A webhook receiver on loopback that verifies each delivery with the published example and stores it."""

import importlib.util
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Self

from checklist_dev.failures import Failure
from checklist_dev.repository import ROOT

_VERIFIER = ROOT / "examples" / "receivers" / "verify.py"


@lru_cache(maxsize=1)
def verifier() -> ModuleType:
    """The example of the receiver guide, so that the published code is tested."""
    spec = importlib.util.spec_from_file_location("checklist_receiver_verify", _VERIFIER)
    if spec is None or spec.loader is None:
        raise Failure(f"{_VERIFIER} is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, slots=True)
class Delivery:
    """A received request: its envelope, the response, and the fault of its signature, if any."""

    envelope: dict[str, Any]
    status: int
    fault: str | None
    path: str

    @property
    def event(self) -> str:
        return str(self.envelope["event"])


class Receiver:
    """Serves in a thread. `fail_next(n)` answers 500 to the next n deliveries."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._verify = verifier().verify
        self._deliveries: list[Delivery] = []
        self._changed = threading.Condition()
        self._failures = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status = receiver._take(self.path, dict(self.headers.items()), body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing: the transcript lists requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def fail_next(self, count: int) -> None:
        with self._changed:
            self._failures = count

    def of_run(self, run_id: str) -> list[Delivery]:
        """All deliveries of a run so far, in order of arrival."""
        with self._changed:
            return [delivery for delivery in self._deliveries if delivery.envelope["run_id"] == run_id]

    def wait_for(self, run_id: str, wanted: Callable[[list[Delivery]], bool], *, within_s: float) -> list[Delivery]:
        """The deliveries of a run once `wanted` accepts them, or when the time is up."""
        deadline = time.monotonic() + within_s
        with self._changed:
            while True:
                found = [delivery for delivery in self._deliveries if delivery.envelope["run_id"] == run_id]
                left = deadline - time.monotonic()
                if wanted(found) or left <= 0:
                    return found
                self._changed.wait(left)

    def _take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        fault = None
        try:
            self._verify("POST", self.url + path, headers, body, self.secret, now=time.time())
        except ValueError as error:
            fault = str(error)
        with self._changed:
            status = 500 if self._failures > 0 else 204
            self._failures = max(0, self._failures - 1)
            self._deliveries.append(Delivery(json.loads(body), status, fault, path))
            self._changed.notify_all()
        return status

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
