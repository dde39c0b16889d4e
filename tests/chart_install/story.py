"""What happens in an installation while it is upgraded, rolled back and taken away."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
from tests.waiting import eventually_sync

from checklist_crds import api_keys
from checklist_dev.bootstrap import api_key_object
from checklist_dev.first_run import BUILT_IN
from checklist_dev.ports import free_ports

from .installed import Installation

FIRST_GAP_S = 3600


class Story:
    """A run that somebody has begun, a key, and a webhook that waits for its receiver."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.key = api_keys.new_key()
        self.receiver_port = free_ports(1)[0]
        self.received: list[dict[str, Any]] = []
        self.run_id = self.link = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.installation.port}"

    def begin(self) -> None:
        self.admit()
        self.dispatch(BUILT_IN)
        self.executor("PUT", "/answers/s-clean", {"value": True})
        wait_for(lambda: self.waiting() is not None, "a delivery that waits", installation=self.installation)

    def admit(self) -> None:
        """A key of the first organization's administrator."""
        (member,) = self.installation.get("members")["items"]
        assert member["spec"]["role"] == "admin"
        key = api_key_object(self.key, "example-ltd", member["metadata"]["name"])
        key["metadata"]["namespace"] = self.installation.release
        self.installation.kubectl("create", "-f", "-", stdin=json.dumps(key))

    def dispatch(self, definition: Any) -> None:
        template = self.rest("POST", "/v1/templates", definition)["id"]
        webhook = {
            "url": f"http://127.0.0.1:{self.receiver_port}/hook",
            "secret": "a secret of the receiver",
            "events": ["step.completed"],
        }
        run = self.rest("POST", "/v1/runs", {"template_id": template, "webhook": webhook})
        self.run_id, self.link = run["run_id"], run["link"]

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.request(method, self.url + path, json=body, headers=headers, timeout=30, trust_env=False)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def executor(self, method: str, path: str, body: Any = None, *, image: bytes | None = None) -> Any:
        """As the page does it, with the token of the link that was sent."""
        headers = {"Authorization": f"Executor {self.link.partition('#')[2]}"}
        if image is not None:
            headers["Content-Type"] = "image/jpeg"
        address = f"{self.url}/v1/executor/runs/{self.run_id}{path}"
        answer = httpx.request(method, address, json=body, content=image, headers=headers, timeout=30, trust_env=False)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def waiting(self) -> dict[str, Any] | None:
        for delivery in self.installation.get("webhookdeliveries")["items"]:
            status = delivery.get("status", {})
            if status.get("phase") == "Pending" and status.get("nextAttemptAt"):
                return dict(status)
        return None

    def make_due(self) -> None:
        """An hour passes."""
        (delivery,) = self.installation.get("webhookdeliveries")["items"]
        change = json.dumps({"status": {"nextAttemptAt": "2026-01-01T00:00:00.000Z"}})
        name = ("webhookdeliveries", delivery["metadata"]["name"], "-n", self.installation.release)
        self.installation.kubectl("patch", *name, "--subresource=status", "--type=merge", "-p", change)

    def check(self) -> None:
        """The run, its link, the key, the account and the delivery are as they were."""
        assert self.rest("GET", f"/v1/runs/{self.run_id}")["run_id"] == self.run_id
        assert self.executor("GET", "")["run_id"] == self.run_id
        status = self.waiting()
        assert status is not None and status["attempt"] == 1

    @contextmanager
    def listening(self) -> Iterator[None]:
        story = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                story.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        server = HTTPServer(("127.0.0.1", self.receiver_port), Receiver)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def wait_for(condition: Any, what: str, *, installation: Installation) -> None:
    try:
        eventually_sync(condition, every_s=0.2)
    except AssertionError as error:
        raise AssertionError(f"{what} did not come:\n{installation.operator_log()}") from error
