"""Who acts with an installation: a caller with a key, the person with a link, an administrator at the dashboard and
with kubectl; and the receiver of its events."""

import json
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from tests.chart.install.installed import Installation
from tests.cluster.operator_lab import Receiver, condition
from tests.dashboard_auth.person import PersonAt
from tests.waiting import eventually

from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import EVENT, RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.values.json_text import JsonObject

ADMIN = "ada@example.com"
ORGANIZATION_NAME = "example-ltd"
ORGANIZATION_ID = object_id("org", ORGANIZATION_NAME)


@dataclass
class Story:
    """`kube` and `apply` are the cluster's administrator; `admin` is the organization's, `key` is theirs."""

    installation: Installation
    kube: KubeClient
    public: httpx.AsyncClient
    admin: PersonAt
    receiver: Receiver = field(default_factory=Receiver)
    key: str = ""

    async def admit(self) -> None:
        """The first administrator signs in with a link, and makes a key."""
        printed = self.installation.exec("checklist-dispatch", "sign-in-link", ADMIN)
        link = re.search(rf"{self.installation.url}/dashboard/sign-in#link=(\S+)", printed)
        assert link is not None, printed
        await self.sign_in(self.admin, "link", secret=link[1])
        self.key = (await self.desk("POST", "/keys", {"name": "tests"}, status=201))["key"]

    async def sign_in(self, person: PersonAt, way: str, **body: str) -> JsonObject:
        """Their session."""
        response = await person.post(f"sign-in/{way}", body)
        assert response.is_success, response.text
        return await person.session()

    async def call(self, method: str, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.key}", **headers}
        response = await self.public.request(method, path, json=body, headers=sent)
        assert response.status_code == status, (method, path, response.status_code, response.text)
        return response.json() if response.content else None

    async def post_twice(self, path: str, body: Any, identifier: str, *, status: int = 201) -> JsonObject:
        """With one Idempotency-Key, so that one object is made."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        first, again = [await self.call("POST", path, body, status=status, **headers) for _ in range(2)]
        assert first[identifier] == again[identifier]
        return dict(first)

    async def desk(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        response = await self.admin.request(method, f"{ORGANIZATION_ID}{path}", json=body)
        assert response.status_code == status, (method, path, response.status_code, response.text)
        return response.json() if response.content else None

    async def executor(self, run: JsonObject, method: str, path: str, **sent: Any) -> Any:
        """As the page does it, with the token of the link that was sent."""
        headers = {"Authorization": f"Executor {run['link'].partition('#')[2]}", **sent.pop("headers", {})}
        url = f"/v1/executor/runs/{run['run_id']}{path}"
        response = await self.public.request(method, url, headers=headers, **sent)
        assert response.is_success, (method, path, response.status_code, response.text)
        return response.json()

    async def template(self, definition: JsonObject) -> str:
        return str((await self.call("POST", "/v1/templates", definition, status=201))["id"])

    def a_run(self, template: str, **more: Any) -> JsonObject:
        webhook = {"url": self.receiver.url, "secret": "a secret of the receiver", "events": ["*"]}
        return {"template_id": template, "webhook": webhook, **more}

    async def dispatch(self, template: str, **more: Any) -> JsonObject:
        return dict(await self.call("POST", "/v1/runs", self.a_run(template, **more), status=201))

    def apply(
        self, kind: Kind, name: str, spec: JsonObject, *, organization: str = ORGANIZATION_NAME, namespace: str = ""
    ) -> None:
        """As GitOps does it: without a label, without a status."""
        metadata, spec = {"name": name}, dict(spec)
        if kind.namespaced:
            metadata["namespace"] = namespace or self.installation.namespace
            spec["organizationRef"] = {"name": organization}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        as_git_ops = ("apply", "--server-side", "--field-manager=flux", "-f", "-")
        self.installation.kubectl(*as_git_ops, stdin=json.dumps(body))

    # -- what comes of it ------------------------------------------------------------------------------------------

    async def comes(self, check: Callable[[], Awaitable[Any] | Any], what: str) -> Any:
        try:
            return await eventually(check, every_s=0.1)
        except AssertionError as error:
            raise AssertionError(f"{what} did not come: {error}\n{self.installation.operator_log()}") from error

    async def arrives(self, run: str, event: str) -> JsonObject:
        """The receiver has got it."""
        found = await self.comes(lambda: [one for one in self.receiver.events(run) if one["event"] == event], event)
        return dict(found[0])

    async def becomes(
        self, kind: Kind, name: str, holds: Callable[[JsonObject], Any], namespace: str = ""
    ) -> JsonObject:
        where = (namespace or self.installation.namespace) if kind.namespaced else None

        async def look() -> JsonObject | None:
            body = await self.kube.get(kind, name, where)
            return body if holds({"status": {}, **body}) else None

        return dict(await self.comes(look, f"{kind.kind} {name} as it should be"))

    async def goes(self, kind: Kind, name: str) -> None:
        async def is_gone() -> bool:
            try:
                await self.kube.get(kind, name, self.installation.namespace)
            except KubeNotFound:
                return True
            return False

        await self.comes(is_gone, f"the end of {kind.kind} {name}")

    async def has_event(self, about: str, reason: str, *, namespace: str = "", count: int = 1) -> None:
        """In an Event of Kubernetes; what happens again is counted."""
        where, chosen = namespace or self.installation.namespace, f"involvedObject.name={about}"

        async def look() -> bool:
            items, _ = await self.kube.list_all(EVENT, where, field_selector=chosen)
            return any(one["reason"] == reason and (one.get("count") or 1) >= count for one in items)

        await self.comes(look, f"{count} times {reason} of {about}")

    async def fails(self, template: str, **more: str) -> tuple[str, str]:
        """A run and the event of it that failed at each attempt."""
        self.receiver.answer = lambda _: 500
        run = (await self.dispatch(template, **more))["run_id"]
        await self.call("POST", f"/v1/runs/{run}/cancel", {})
        await self.becomes(RUN, run, lambda body: body["status"].get("settled"))
        where, chosen = self.installation.namespace, f"spec.runRef.name={run}"
        (delivery,), _ = await self.kube.list_all(WEBHOOK_DELIVERY, where, field_selector=chosen)
        event = str(delivery["metadata"]["name"])
        await self.becomes(WEBHOOK_DELIVERY, event, lambda body: body["status"].get("settled"))
        self.receiver.answer = lambda _: 204
        return run, event


def is_so(body: JsonObject, of: str) -> bool:
    """Whether the object has this condition, and it is true."""
    return (condition(body, of) or {}).get("status") == "True"


@asynccontextmanager
async def story_of(installation: Installation) -> AsyncIterator[Story]:
    """API and operator are ready; no one has signed in. The receiver listens when it is started."""
    async with (
        KubeClient(await KubeConnection.load(str(installation.cluster.kubeconfig))) as kube,
        httpx.AsyncClient(base_url=installation.url, trust_env=False, timeout=30) as public,
    ):
        story = Story(installation, kube, public, PersonAt(public))
        try:
            yield story
        finally:
            await story.receiver.stop()
