"""Who acts in the scenes: a caller with a key, the person with a link, an administrator at the dashboard, kubectl."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from tests.chart_rbac.processes import Program
from tests.chart_rbac.release import BRANCH, HOME, Release
from tests.cluster.operator_lab import Receiver
from tests.dashboard_auth.person import PersonAt
from tests.waiting import eventually

from checklist_crds.account_links import account_name, new_token, one_time_link
from checklist_crds.account_types import LocalAccountSpec
from checklist_crds.ids import object_id
from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeAlreadyExists, KubeNotFound
from checklist_crds.kube.kinds import EVENT, LOCAL_ACCOUNT, RUN, WEBHOOK_DELIVERY, Kind
from checklist_crds.resource_types import API_VERSION
from checklist_crds.times import utc_now

ORGANIZATION_NAME: Final = "first"
ORGANIZATION_ID: Final = object_id("org", ORGANIZATION_NAME)
BRANCH_ORGANIZATION: Final = "branch"
WITHIN_S: Final = 30.0
STEPS: Final = (
    {"id": "s-clean", "type": "boolean", "label": "Clean?", "photo": {"min": 0, "max": 2}},
    {"id": "s-note", "type": "text", "label": "Anything else?"},
)
CHECKLIST: Final[JsonObject] = {
    "name": "Opening",
    "sections": [{"id": "g-1", "title": "Kitchen", "steps": list(STEPS)}],
    "settings": {"allow_skip": True, "signature_on_complete": True},
}


async def succeeds(asking: Awaitable[httpx.Response]) -> httpx.Response:
    response = await asking
    assert response.is_success, (response.status_code, response.text)
    return response


@dataclass
class Life:
    """What a scene acts with. `kube` is an administrator; `rest` bears the organization's key."""

    release: Release
    programs: dict[str, Program]
    kube: KubeClient
    receiver: Receiver
    public: httpx.AsyncClient
    admin: PersonAt
    rest: httpx.AsyncClient
    template: str = ""
    earlier_run: JsonObject = field(default_factory=dict)

    # -- by REST ---------------------------------------------------------------------------------------------------

    async def call(self, method: str, path: str, body: Any = None, *, status: int = 200, **headers: str) -> Any:
        sent = {} if body is None else {"json": body}
        response = await self.rest.request(method, path, headers=headers, **sent)
        assert response.status_code == status, (method, path, response.status_code, response.text)
        return response.json() if response.content else None

    async def post_twice(self, path: str, body: Any, identifier: str, *, status: int = 201) -> JsonObject:
        """With one Idempotency-Key, so that one object is made."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        first, again = [await self.call("POST", path, body, status=status, **headers) for _ in range(2)]
        assert first[identifier] == again[identifier]
        return dict(first)

    async def dispatch(self, **body: Any) -> JsonObject:
        return dict(await self.call("POST", "/v1/runs", self.a_run(**body), status=201))

    def a_run(self, **body: Any) -> JsonObject:
        webhook = {"url": self.receiver.url, "secret": "a-secret-of-the-test", "events": ["*"]}
        return {"template_id": self.template, "webhook": webhook, **body}

    async def executor(self, run: JsonObject, method: str, path: str, **sent: Any) -> Any:
        token = run["link"].partition("#")[2]
        headers = {"Authorization": f"Executor {token}", **sent.pop("headers", {})}
        url = f"/v1/executor/runs/{run['run_id']}{path}"
        return (await succeeds(self.public.request(method, url, headers=headers, **sent))).json()

    async def at_desk(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        response = await self.admin.request(method, f"{ORGANIZATION_ID}{path}", json=body)
        assert response.status_code == status, (method, path, response.status_code, response.text)
        return response.json() if response.content else None

    # -- what comes of it ------------------------------------------------------------------------------------------

    async def arrives(self, run_id: str, event: str) -> None:
        """The receiver has got it."""
        await eventually(lambda: event in [one["event"] for one in self.receiver.events(run_id)], within_s=WITHIN_S)

    async def becomes(
        self, kind: Kind, name: str, holds: Callable[[JsonObject], Any], namespace: str | None = HOME
    ) -> JsonObject:
        async def look() -> JsonObject | None:
            body = await self.kube.get(kind, name, namespace)
            return body if holds(body) else None

        found: JsonObject = await eventually(look, within_s=WITHIN_S, every_s=0.05)
        return found

    async def goes(self, kind: Kind, name: str) -> None:
        async def is_gone() -> bool:
            try:
                await self.kube.get(kind, name, HOME)
            except KubeNotFound:
                return True
            return False

        await eventually(is_gone, within_s=WITHIN_S, every_s=0.05)

    async def tells(self, about: str, reason: str, *, namespace: str = HOME, count: int = 1) -> None:
        """In an Event of Kubernetes; what happens again is counted."""

        async def told() -> bool:
            items, _ = await self.kube.list_all(EVENT, namespace, field_selector=f"involvedObject.name={about}")
            return any(one["reason"] == reason and (one.get("count") or 1) >= count for one in items)

        await eventually(told, within_s=WITHIN_S)

    async def settles(self, run_id: str, namespace: str = HOME) -> JsonObject:
        return await self.becomes(RUN, run_id, lambda body: body["status"].get("settled"), namespace)

    async def apply(self, kind: Kind, name: str, spec: JsonObject, namespace: str = HOME) -> JsonObject:
        """As kubectl or GitOps make it: without a label, without a status."""
        organization = {HOME: ORGANIZATION_NAME, BRANCH: BRANCH_ORGANIZATION}[namespace]
        body = {
            "apiVersion": API_VERSION,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"organizationRef": {"name": organization}, **spec},
        }
        return await self.kube.create(kind, body, namespace)

    async def fails(self) -> tuple[str, str]:
        """A run and the event of it that failed five times."""
        self.receiver.answer = lambda _: 500
        run = await self.dispatch()
        await self.call("POST", f"/v1/runs/{run['run_id']}/cancel", {})
        await self.settles(run["run_id"])
        found, _ = await self.kube.list_all(WEBHOOK_DELIVERY, HOME, field_selector=f"spec.runRef.name={run['run_id']}")
        (delivery,) = found
        name = str(delivery["metadata"]["name"])
        await self.becomes(WEBHOOK_DELIVERY, name, lambda body: (body.get("status") or {}).get("settled"))
        self.receiver.answer = lambda _: 204
        return run["run_id"], name


@asynccontextmanager
async def living(release: Release, programs: dict[str, Program]) -> AsyncIterator[Life]:
    """A receiver, an administrator who is signed in, an API key of the organization, and a template."""
    url = programs["api"].url
    receiver = Receiver()
    await receiver.start()
    try:
        async with (
            KubeClient(await KubeConnection.load(str(release.cluster.kubeconfig))) as kube,
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as public,
        ):
            admin = PersonAt(public)
            await succeeds(admin.post("sign-in/link", {"secret": await sign_in_link(kube, "first@example.com")}))
            await admin.session()
            made = await succeeds(admin.post(f"{ORGANIZATION_ID}/keys", {"name": "test"}))
            bearer = {"Authorization": f"Bearer {made.json()['key']}"}
            async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20, headers=bearer) as rest:
                life = Life(release, programs, kube, receiver, public, admin, rest)
                life.template = (await life.call("POST", "/v1/templates", CHECKLIST, status=201))["id"]
                life.earlier_run = await life.dispatch()
                yield life
    finally:
        await receiver.stop()


async def sign_in_link(kube: KubeClient, email: str) -> str:
    """The token of a new link, as `checklist-dispatch sign-in-link` makes it."""
    token, name = new_token(email), account_name(email)
    spec = LocalAccountSpec(email=email, name="First", link=one_time_link(token, now=utc_now())).to_kube()
    body = {"apiVersion": API_VERSION, "kind": LOCAL_ACCOUNT.kind, "metadata": {"name": name}, "spec": spec}
    try:
        await kube.create(LOCAL_ACCOUNT, body, HOME)
    except KubeAlreadyExists:
        await kube.patch(LOCAL_ACCOUNT, name, {"spec": {"link": spec["link"]}}, HOME)
    return token
