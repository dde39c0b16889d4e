"""What tests of the operator stand on: the operator as a process, a receiver on a real socket, and objects as kubectl
and the API make them.
"""

import asyncio
import base64
import json
import os
import re
import ssl
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.revisions import RevisionStore
from checklist_crds.kube.run_store import RunStore
from checklist_crds.resources.base import API_VERSION, ORGANIZATION_LABEL
from checklist_crds.resources.kinds import ORGANIZATION, RUN, SECRET, TEMPLATE, WEBHOOK_DELIVERY, Kind
from checklist_crds.resources.run import Run
from checklist_crds.runs.commands import AnswerStep, Cancel, Submit
from checklist_crds.runs.seal import RunSeals
from checklist_crds.runs.snapshot import snapshot
from checklist_crds.secrets.sealing import KeyRing, ServerKeys, run_owner
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child

SERVER_KEY = bytes(range(1, 33))
BASE_URL = "https://checklists.example"
SEALING_KEYS = "k1:" + base64.b64encode(bytes(range(32))).decode()
WEBHOOK_SECRET = "a secret of the caller"
OTHER_SECRET = "ein Geheimnis mit ß und ☃"


@dataclass
class Delivered:
    """One request that the receiver got, and when its first byte was there."""

    at: float
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed

    @property
    def attempt(self) -> int:
        return int(self.envelope["delivery_attempt"])


Answer = Callable[[Delivered], Awaitable[int] | int]


@dataclass
class Receiver:
    """A webhook endpoint on loopback. `answer` decides the status of each request."""

    answer: Answer = lambda _: 204
    received: list[Delivered] = field(default_factory=list)
    port: int = 0
    _runner: web.AppRunner | None = None
    _scheme: str = "http"

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        application = web.Application(client_max_size=4 << 20)
        application.router.add_post("/{path:.*}", self._receive)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=tls).start()
        self.port, self._scheme = self._runner.addresses[0][1], "https" if tls else "http"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/hook"

    async def _receive(self, request: web.Request) -> web.Response:
        at = time.time()
        delivered = Delivered(at, request.path, dict(request.headers), await request.read())
        self.received.append(delivered)
        status = self.answer(delivered)
        return web.Response(status=status if isinstance(status, int) else await status)

    def events(self, run: str) -> list[dict[str, Any]]:
        """The envelopes of one run, in order of arrival."""
        return [one.envelope for one in self.received if one.envelope["run_id"] == run]

    def attempts(self, run: str) -> list[int]:
        """The numbers of the attempts of one run's events, in order of arrival."""
        return [event["delivery_attempt"] for event in self.events(run)]

    def hold(self, which: Callable[[Delivered], bool] = lambda _: True, *, others: int = 200) -> asyncio.Event:
        """Answer `which` with 200 when the event that is returned is set, and the others at once with this status."""
        gate = asyncio.Event()

        async def answer(one: Delivered) -> int:
            if not which(one):
                return others
            await gate.wait()
            return 200

        self.answer = answer
        return gate


class OperatorProcess:
    """`python -m checklist_operator` for one namespace, with gaps of 0.2 s between attempts."""

    may_log_errors = False

    def __init__(self, folder: Path, kubeconfig: Path, namespace: str, *, name: str = "operator", **settings: str):
        self.port = free_ports(1)[0]
        environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "CHECKLISTS_NAMESPACE": namespace,
            "CHECKLISTS_WATCH_NAMESPACES": namespace,
            "CHECKLISTS_SEALING_KEYS": SEALING_KEYS,
            "CHECKLISTS_SERVER_KEY": base64.b64encode(SERVER_KEY).decode(),
            "CHECKLISTS_BASE_URL": BASE_URL,
            "CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(),
            "CHECKLISTS_OPERATOR_PORT": str(self.port),
            "CHECKLISTS_OPERATOR_ID": name,
            "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
            "CHECKLISTS_RETRY_GAPS": "0.2,0.2,0.2,0.2",
            "CHECKLISTS_RETRY_JITTER": "0",
            **settings,
        }
        command = [sys.executable, "-m", "checklist_operator"]
        self.child = Child(name, command, log=folder / f"{name}.log", env=environment)

    async def start(self, *, word: str | None = "leading", within_s: float = 60.0) -> None:
        """Returns when /readyz says `word`; None does not wait at all."""
        await asyncio.to_thread(self.child.start)
        if word is not None:
            await self.until_ready(word, within_s)

    async def until_ready(self, word: str, within_s: float = 60.0) -> None:
        async def says() -> bool:
            if not self.child.running:
                raise AssertionError(self.child.output()[-4000:])
            status, text = await self.get("/readyz")
            return status == 200 and json.loads(text)["status"] == word

        await eventually(says, within_s=within_s)

    async def get(self, path: str) -> tuple[int, str]:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session,
                session.get(f"http://127.0.0.1:{self.port}{path}") as response,
            ):
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError):
            return 0, ""

    async def metric(self, name: str) -> float:
        """The sum of a metric over all of its labels."""
        _, text = await self.get("/metrics")
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))

    async def stop(self) -> None:
        await asyncio.to_thread(self.child.stop)

    async def kill(self) -> None:
        await asyncio.to_thread(self.child.kill)

    @property
    def output(self) -> str:
        """What it has logged since it was last started."""
        return self.child.output()


StartOperator = Callable[..., Awaitable[OperatorProcess]]


class Lab:
    """Objects of one organization in one namespace."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.organization = f"org-{uuid.uuid4()}"
        self.revisions = RevisionStore(client)
        self.store = RunStore(client, self.revisions, utc_now)
        self.key_ring = KeyRing.parse(SEALING_KEYS)
        self.seals = RunSeals(ServerKeys(SERVER_KEY))
        self.template: JsonObject = {}

    async def prepare(self, **spec: Any) -> None:
        """An organization that lives in this namespace, and a template of three steps."""
        labels = {ORGANIZATION_LABEL: self.organization}
        spec = {"displayName": "Acme", "namespace": self.namespace, **spec}
        await self.client.create(ORGANIZATION, resource("Organization", self.organization, spec, labels=labels))
        self.template = await self.client.create(TEMPLATE, self.template_body(f"t-{uuid.uuid4()}"), self.namespace)

    def template_body(self, name: str, **spec: Any) -> JsonObject:
        steps = [{"id": f"s-{n}", "type": "number", "label": "How many?"} for n in range(3)]
        sections = [{"id": "g-1", "title": "Kitchen", "steps": steps}]
        basis = {"name": "Opening", "settings": {"allow_skip": True}, "sections": sections}
        return self.owned("Template", name, labelled=True, **{**basis, **spec})

    def owned(self, kind: str, name: str, /, *, labelled: bool = False, **spec: Any) -> JsonObject:
        """The body of an object of this organization in this namespace."""
        spec = {"organizationRef": {"name": self.organization}, **spec}
        labels = {ORGANIZATION_LABEL: self.organization} if labelled else None
        return resource(kind, name, spec, namespace=self.namespace, labels=labels)

    async def dispatch(
        self,
        url: str | None = None,
        *,
        expires_in_s: float | None = None,
        events: list[str] | None = None,
        ago: timedelta = timedelta(),
    ) -> str:
        """A run as the API makes it; its id. `ago`: one that the API made then, and that was created again now."""
        taken = snapshot(self.template)
        await self.revisions.ensure(taken.revision, taken.definition)
        name = f"r-{uuid.uuid4()}"
        spec: JsonObject = {
            "templateId": taken.resolved.template_id,
            "createdAt": format_timestamp(utc_now() - ago),
            "resolved": taken.resolved.to_kube(),
        }
        if expires_in_s is not None:
            spec["expiresAt"] = format_timestamp(utc_now() + timedelta(seconds=expires_in_s))
        if url is not None:
            sealed = self.key_ring.seal(WEBHOOK_SECRET, owner=run_owner(self.namespace, name))
            spec["webhook"] = {"url": url, "events": events or ["*"], "sealedSecret": sealed}
        run = self.seals.sealed(self.owned("Run", name, labelled=True, **spec))
        await self.client.create(RUN, run, self.namespace)
        return name

    async def cancelled(self, url: str | None = None) -> str:
        """A run that was dispatched and cancelled and has settled; its id."""
        run = await self.dispatch(url)
        await self.cancel(run)
        await self.until_settled(run)
        return run

    async def apply_run(self, **spec: Any) -> str:
        """A run as a person makes it: nothing but its spec. Its template is that of the lab unless the spec says so."""
        name = f"r-{uuid.uuid4()}"
        if not spec.keys() & {"templateRef", "templateId"}:
            spec["templateRef"] = {"name": self.template["metadata"]["name"]}
        await self.client.create(RUN, resource("Run", name, spec, namespace=self.namespace), self.namespace)
        return name

    async def apply_run_with_secret(self, url: str, *, secret: str = OTHER_SECRET, **webhook: Any) -> str:
        """A run whose webhook secret is in the Secret `hook`, and which is admitted; its id."""
        await self.secret("hook", secret)
        run = await self.apply_run(
            organizationRef={"name": self.organization},
            webhook={"url": url, "events": ["*"], "secretRef": {"name": "hook"}, **webhook},
        )
        await self.until_admitted(run)
        return run

    async def secret(self, name: str, text: str) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        data = {"secret": base64.b64encode(text.encode()).decode()}
        await self.client.create(
            SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, self.namespace
        )

    async def answer(self, run: str, step: int = 0, value: float = 1) -> None:
        await self.store.change(self.namespace, run, AnswerStep(step_id=f"s-{step}", value=value))

    async def submit(self, run: str) -> None:
        await self.store.change(self.namespace, run, Submit())

    async def cancel(self, run: str) -> None:
        await self.store.change(self.namespace, run, Cancel(reason="enough"))

    async def run(self, name: str) -> Run:
        return Run.parse(await self.get(RUN, name))

    async def get(self, kind: Kind, name: str) -> JsonObject:
        return await self.client.get(kind, name, self.namespace if kind.namespaced else None)

    async def configure(self, **spec: Any) -> None:
        """Change the spec of the organization."""
        await self.client.patch(ORGANIZATION, self.organization, {"spec": spec})

    async def is_gone(self, kind: Kind, name: str) -> bool:
        try:
            await self.get(kind, name)
        except KubeNotFound:
            return True
        return False

    async def until(self, kind: Kind, name: str, holds: Callable[[JsonObject], Any]) -> JsonObject:
        """The object as soon as `holds(body)`."""

        async def look() -> JsonObject | None:
            body = await self.get(kind, name)
            return body if holds(body) else None

        found: JsonObject = await eventually(look)
        return found

    async def until_condition(self, kind: Kind, name: str, condition_type: str, **wanted: str) -> dict[str, Any]:
        """The condition of an object as soon as it has these fields."""
        body = await self.until(
            kind, name, lambda body: wanted.items() <= (condition(body, condition_type) or {}).items()
        )
        return condition(body, condition_type) or {}

    async def until_admitted(self, run: str) -> Run:
        await self.until_condition(RUN, run, "Admitted", status="True")
        return await self.run(run)

    async def until_settled(self, run: str, *, within_s: float = 60.0) -> Run:
        """The run; its deliveries, which are recorded last, are settled then, too."""

        async def settled() -> Run | None:
            now = await self.run(run)
            deliveries = await self.deliveries(run) if now.status.settled else [{}]
            return now if all((one.get("status") or {}).get("settled") for one in deliveries) else None

        found: Run = await eventually(settled, within_s=within_s)
        return found

    async def deliveries(self, run: str) -> list[JsonObject]:
        selector = f"spec.runRef.name={run}"
        items, _ = await self.client.list_all(WEBHOOK_DELIVERY, self.namespace, field_selector=selector)
        return items


def resource(
    kind: str, name: str, spec: Mapping[str, Any], *, namespace: str = "", labels: Mapping[str, str] | None = None
) -> JsonObject:
    """The body of an object of ours."""
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def condition(body: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """The condition of this type of an object, if it has one."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((dict(one) for one in conditions if one["type"] == kind), None)
