"""The real API, in process, on the session's real control plane; with an organization, a member and a key."""

import base64
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import pytest_asyncio
from tests.serving import serving
from tests.waiting import eventually

from checklist_api.openapi.document import openapi_document
from checklist_api.settings.service import Settings
from checklist_api.wiring.services import Services
from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import API_KEY, MEMBER, NAMESPACE, ORGANIZATION, Kind
from checklist_crds.runs.commands import Command
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_crds.secrets.sealing import executor_token
from checklist_crds.times import Clock, utc_now
from checklist_dev.local.controlplane import ControlPlane

from .openapi_check import Contract

T = TypeVar("T")
CONTRACT = Contract(openapi_document("https://checklists.example"))
WEBHOOK_SECRET = "a-secret-of-the-test"


def definition(**changes: Any) -> dict[str, Any]:
    """A small TDL: one required boolean, one optional text that depends on it."""
    why_not = {"when": {"step": "s-clean", "op": "eq", "value": False}}
    steps = [
        {"id": "s-clean", "type": "boolean", "label": "Is it clean?", "required": True},
        {"id": "s-why", "type": "text", "label": "What is not?", "condition": why_not},
    ]
    sections = [{"id": "g-one", "title": "Kitchen", "steps": steps}]
    return {"name": "Opening check", "settings": {"allow_skip": True}, "sections": sections} | changes


@dataclass(frozen=True)
class Account:
    """An organization with a member and a key of theirs, and an HTTP client that bears the key."""

    organization: str
    member: str
    key: str
    namespace: str
    http: httpx.AsyncClient

    async def create_template(self, **changes: Any) -> dict[str, Any]:
        response = await self.http.post("/v1/templates", json=definition(**changes))
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def dispatch(self, template_id: str, **members: Any) -> dict[str, Any]:
        response = await self.http.post("/v1/runs", json={"template_id": template_id, **members})
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def new_run(self, **members: Any) -> str:
        template = await self.create_template()
        return str((await self.dispatch(template["id"], **members))["run_id"])


@dataclass(frozen=True)
class Api:
    """A running API. `http` bears the key of `account`; `anonymous` bears none."""

    base_url: str
    services: Services
    kube: KubeClient
    account: Account
    http: httpx.AsyncClient
    anonymous: httpx.AsyncClient
    make_account: Callable[..., Awaitable[Account]]

    @property
    def namespace(self) -> str:
        return self.account.namespace

    @property
    def organization(self) -> str:
        return self.account.organization

    def token(self, run_id: str, account: Account | None = None) -> str:
        """Of the link of a run of the account's organization."""
        organization = object_id("org", (account or self.account).organization)
        return executor_token(self.services.settings.server_key, organization, run_id)

    async def does(self, run_id: str, *commands: Command) -> None:
        for command in commands:
            run = await self.services.run_access.by_id(run_id)
            await self.services.run_access.change(run, command)

    async def all_of(self, kind: Kind) -> list[dict[str, Any]]:
        """The objects of the account's organization in the cluster."""
        found, _ = await self.kube.list_all(kind, self.namespace)
        own = {"name": self.organization}
        return [body for body in found if body["spec"].get("organizationRef") == own]


StartApi = Callable[..., Awaitable[Api]]
ALL_NAMESPACES = {"CHECKLISTS_WATCH_NAMESPACES": ""}
"""Setting of an API that also watches namespaces that a test makes: `await start_api(**ALL_NAMESPACES)`."""


@pytest.fixture(scope="session")
def sealing_keys() -> str:
    return "k1:" + base64.b64encode(os.urandom(32)).decode()


@pytest.fixture(scope="session")
def server_key() -> bytes:
    return os.urandom(32)


@pytest.fixture
async def kube(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as client:
        yield client


@pytest.fixture
async def namespace(kube: KubeClient) -> str:
    """As the one of all tests, without a process for each."""
    return await _new_namespace(kube)


EACH_STORE = pytest.mark.parametrize("photo_settings", ["file", "s3"], indirect=True)
"""With a photo store in a folder, and then in a real S3 server."""


@pytest.fixture
def photo_settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Photos of a test are in a folder of its own, or in a bucket with `EACH_STORE`."""
    settings = {"CHECKLISTS_PHOTO_STORE": (tmp_path / "photos").as_uri()}
    if getattr(request, "param", "file") == "s3":
        settings = request.getfixturevalue("s3").settings(tmp_path.name)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)  # clouds' credentials are looked for in the environment of the process
    return settings | {"CHECKLISTS_UPLOAD_FOLDER": str(tmp_path)}


@pytest.fixture
async def start_api(  # noqa: PLR0917 - fixtures
    control_plane: ControlPlane,
    kube: KubeClient,
    namespace: str,
    sealing_keys: str,
    server_key: bytes,
    photo_settings: dict[str, str],
) -> AsyncIterator[StartApi]:
    """`await start_api(CHECKLISTS_RATE_LIMIT="2/s burst 3")`: an API with its own settings; rates are off by default.

    It watches the test's namespace alone: otherwise each would read what all tests before it have left in the cluster.
    APIs that one test starts share namespace, server key and `account`.
    """
    async with _starting(control_plane, kube, namespace, _keys(server_key, sealing_keys) | photo_settings) as start:
        yield start


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_api(
    control_plane: ControlPlane, sealing_keys: str, server_key: bytes, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Api]:
    folder = tmp_path_factory.mktemp("shared")
    photos = {"CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(), "CHECKLISTS_UPLOAD_FOLDER": str(folder)}
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as kube:
        settings = _keys(server_key, sealing_keys) | photos
        async with _starting(control_plane, kube, await _new_namespace(kube), settings) as start:
            yield await start()


@pytest_asyncio.fixture(loop_scope="module")
async def shared_api(module_api: Api) -> Api:
    """The API of the whole module, with an organization of the test's own. A module takes it by `api = shared_api`.

    It is quicker than `api`, and right where tests look at their own organization only: namespace, accounts of people
    and metrics are those of all tests of the module. These run on one event loop.
    """
    account = await module_api.make_account()
    return replace(module_api, account=account, http=account.http)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "module_api" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


def _keys(server_key: bytes, sealing_keys: str) -> dict[str, str]:
    return {"CHECKLISTS_SERVER_KEY": base64.b64encode(server_key).decode(), "CHECKLISTS_SEALING_KEYS": sealing_keys}


async def _new_namespace(kube: KubeClient) -> str:
    name = f"test-{uuid.uuid4().hex[:12]}"
    await kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@asynccontextmanager
async def _starting(
    control_plane: ControlPlane, kube: KubeClient, namespace: str, shared: dict[str, str]
) -> AsyncIterator[StartApi]:
    async with AsyncExitStack() as stack:
        connection = await KubeConnection.load(str(control_plane.kubeconfig))
        accounts: list[Account] = []

        async def start(*, clock: Clock = utc_now, services: Services | None = None, **environment: str) -> Api:
            settings = Settings.from_environment(
                {
                    "CHECKLISTS_NAMESPACE": namespace,
                    "CHECKLISTS_WATCH_NAMESPACES": namespace,
                    "CHECKLISTS_BASE_URL": "https://checklists.example",
                    "CHECKLISTS_RATE_LIMIT": "off",
                    **shared,
                    **environment,
                }
            )
            services = services or Services(settings, connection, clock=clock)
            base_url = await stack.enter_async_context(serving(services))
            anonymous = await stack.enter_async_context(CheckedClient(base_url))

            async def make_account(*, home: str | None = None, **spec: Any) -> Account:
                organization, member, key, where = await _make_account(kube, namespace, home, spec)
                http = await stack.enter_async_context(CheckedClient(base_url, key))
                return Account(organization, member, key, where, http)

            if accounts:
                http = await stack.enter_async_context(CheckedClient(base_url, accounts[0].key))
                account = replace(accounts[0], http=http)
            else:
                account = await make_account()
                accounts.append(account)
            return Api(base_url, services, kube, account, account.http, anonymous, make_account)

        yield start


async def until(look: Callable[[], Awaitable[T]], holds: Callable[[T], bool], **timing: float) -> T:
    """What `look` gives as soon as it `holds`: watches bring it."""
    seen: list[T] = []

    async def check() -> bool:
        seen[:] = [await look()]
        return holds(seen[0])

    await eventually(check, **timing)
    return seen[0]


async def until_status(status: int, ask: Callable[[], Awaitable[httpx.Response]], **timing: float) -> httpx.Response:
    return await until(ask, lambda answer: answer.status_code == status, **timing)


def http_client(base_url: str, key: str | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(**_options(base_url, key))


class CheckedClient(httpx.AsyncClient):
    """Holds every answer, but one that is streamed, against the OpenAPI document."""

    def __init__(self, base_url: str, key: str | None = None) -> None:
        super().__init__(**_options(base_url, key))

    async def request(self, *given: Any, **options: Any) -> httpx.Response:
        response = await super().request(*given, **options)
        CONTRACT.check(response)
        return response


def _options(base_url: str, key: str | None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return {"base_url": base_url, "headers": headers, "timeout": 30, "trust_env": False, "verify": False}


async def _make_account(
    kube: KubeClient, namespace: str, home: str | None, spec: dict[str, Any]
) -> tuple[str, str, str, str]:
    """`home`: a namespace of the organization's own."""
    organization, member, key = new_id("org"), new_id("u"), api_keys.new_key()
    own = {"namespace": home} if home else {}
    body = {
        "apiVersion": ORGANIZATION.api_version,
        "kind": ORGANIZATION.kind,
        "metadata": {"name": organization, "labels": {ORGANIZATION_LABEL: organization}},
        "spec": {"displayName": "Test organization", **own, **spec},
    }
    await kube.create(ORGANIZATION, body)
    where = home or namespace
    person = {"name": "Ada Lovelace", "email": "ada@example.com"}
    await kube.create(MEMBER, owned(MEMBER, member, organization, where, person), where)
    await kube.create(API_KEY, key_object(key, organization, where, member), where)
    return organization, member, key, where


def key_object(
    key: str, organization: str, namespace: str, member: str | None = None, *, name: str | None = None
) -> dict[str, Any]:
    sha256 = digest(key)
    made_by = {"createdBy": member} if member else {}
    spec = {"name": "test", "sha256": sha256, "lastFour": key[-4:], **made_by}
    return owned(API_KEY, name or api_keys.object_name(sha256), organization, namespace, spec)


def owned(kind: Any, name: str, organization: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {ORGANIZATION_LABEL: organization}},
        "spec": {"organizationRef": {"name": organization}, **spec},
    }
