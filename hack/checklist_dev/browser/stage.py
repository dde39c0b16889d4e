"""A complete service for browser tests: temporary control plane, API, operator, an account, and a webhook receiver.

with Stage(folder) as stage:
    link = stage.dispatch(checklist(step("clean")))
    await device.page.goto(link.url)
    ...
    assert stage.run(link)["status"] == "completed"
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from checklist_dev.failures import Failure
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.local_service import LocalService, Report, is_ready
from checklist_dev.local.receiver import Delivery, Receiver
from checklist_dev.local.rest import Rest
from checklist_dev.system.ports import free_ports

Json = dict[str, Any]
EVENTS_WITHIN_S = 20.0
READY_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Link:
    """A dispatched run. `url`: its link; `bare`: the link without the token."""

    run_id: str
    url: str

    @property
    def bare(self) -> str:
        return self.url.partition("#")[0]

    @property
    def token(self) -> str:
        return self.url.partition("#")[2]


class Stage:
    """The service, shared by many tests, each of which dispatches its own runs. Rates are unlimited by default.

    `base_url`: that of a proxy in front of it, if any.
    """

    def __init__(
        self,
        folder: Path,
        *,
        base_url: str | None = None,
        settings: Mapping[str, str] | None = None,
        report: Report = lambda line: None,
    ) -> None:
        self.service = LocalService(
            folder,
            port=free_ports(1)[0],
            base_url=base_url,
            cluster=ControlPlane(folder / "controlplane", ephemeral=True),
            settings={"CHECKLISTS_RATE_LIMIT": "off", **(settings or {})},
            report=report,
        )
        self.receiver = Receiver("a-secret-of-the-stage")
        self._rest: Rest | None = None
        self._anonymous: Rest | None = None

    @property
    def base_url(self) -> str:
        return self.service.base_url

    def dispatch(self, template: Mapping[str, Any] | str, *, events: list[str] | None = None, **members: Any) -> Link:
        """Dispatch a run of a new template, or of the one with that id. `members`: fields of `POST /v1/runs`."""
        template_id = template if isinstance(template, str) else self.rest.create_template(template)
        webhook = {"url": f"{self.receiver.url}/hook", "secret": self.receiver.secret, "events": events or ["*"]}
        run = self.rest.dispatch(template_id, webhook=webhook, **members)
        return Link(run["run_id"], run["link"])

    def run(self, link: Link) -> Json:
        """The run as its owner reads it."""
        return self.rest.call("GET", f"/v1/runs/{link.run_id}")

    def cancel(self, link: Link) -> None:
        """Cancel a run as its owner."""
        self.rest.call("POST", f"/v1/runs/{link.run_id}/cancel", json={})

    def execute(self, link: Link, method: str, path: str, **arguments: Any) -> Json:
        """Call the executor API as another device of the same person."""
        headers = {"Authorization": f"Executor {link.token}"} | arguments.pop("headers", {})
        return self.rest.call(method, f"/v1/executor/runs/{link.run_id}{path}", headers=headers, **arguments)

    @property
    def rest(self) -> Rest:
        """A client with the account's key; shared, since each new one loads all CAs."""
        if self._rest is None:
            raise Failure("the stage has not been started")
        return self._rest

    @property
    def anonymous(self) -> Rest:
        """A client without credentials."""
        if self._anonymous is None:
            raise Failure("the stage has not been started")
        return self._anonymous

    async def events(self, link: Link, *, last: str) -> list[Delivery]:
        """The deliveries of a run in the order of events, up to `last`. Raises Failure if it does not arrive."""
        found = await asyncio.to_thread(
            self.receiver.wait_for,
            link.run_id,
            lambda seen: any(delivery.event == last for delivery in seen),
            within_s=EVENTS_WITHIN_S,
        )
        if last not in {delivery.event for delivery in found}:
            raise Failure(f"{last} did not arrive within {EVENTS_WITHIN_S:.0f} s: {[one.event for one in found]}")
        return sorted(found, key=lambda delivery: int(delivery.envelope["seq"]))

    def kill_api(self) -> None:
        """Kill the API, as a crash: connections are reset."""
        self.service.api.kill()

    async def start_api(self) -> None:
        """Start the API again at the same address and wait until it is ready."""
        api = self.service.api
        api.start()
        await asyncio.to_thread(api.wait_until, lambda: is_ready(self.service.port), timeout_s=READY_WITHIN_S)

    def __enter__(self) -> Self:
        self.service.start()
        self.receiver.__enter__()
        self._anonymous = Rest(self.service.local_url)
        self._rest = Rest(self.service.local_url, self.service.account.api_key)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for client in (self._rest, self._anonymous):
            if client is not None:
                client.close()
        self.receiver.__exit__(kind, error, traceback)
        self.service.stop()
