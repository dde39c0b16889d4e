"""Fixtures of the tests that run an operator against the shared control plane, each in a namespace of its own."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from tests.cluster.operator_lab import BASE_URL, SEALING_KEYS, SERVER_KEY, Lab, OperatorProcess, Receiver, StartOperator
from tests.cluster.severed_line import SeveredLine
from tests.contract.conftest import http_client, key_object
from tests.serving import serving

from checklist_api.settings.service import Settings
from checklist_api.wiring.services import Services
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.kinds import API_KEY
from checklist_crds.secrets import api_keys
from checklist_dev.local.controlplane import ControlPlane


@pytest_asyncio.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig))) as made:
        yield made


@pytest_asyncio.fixture
async def lab(client: KubeClient, namespace: str) -> Lab:
    """An organization with a template, in a namespace of its own."""
    made = Lab(client, namespace)
    await made.prepare()
    return made


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    await made.start()
    yield made
    await made.stop()


@pytest_asyncio.fixture
async def start_operator(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[StartOperator]:
    """`await start_operator("second", word="standby", CHECKLISTS_...="...")`: each is stopped in the end.

    The test fails if one logged an error, unless it `may_log_errors`.
    """
    started: list[OperatorProcess] = []

    async def start(
        name: str = "operator",
        *,
        word: str | None = "leading",
        kubeconfig: Path | None = None,
        may_log_errors: bool = False,
        **settings: str,
    ) -> OperatorProcess:
        made = OperatorProcess(tmp_path, kubeconfig or control_plane.kubeconfig, namespace, name=name, **settings)
        made.may_log_errors = may_log_errors
        started.append(made)
        await made.start(word=word)
        return made

    yield start
    for made in started:
        await made.stop()
    for made in started:
        assert made.may_log_errors or '"level": "error"' not in made.output, made.output[-4000:]


@pytest_asyncio.fixture
async def operator(start_operator: StartOperator, request: pytest.FixtureRequest) -> OperatorProcess:
    """A leading operator with the OPERATOR_SETTINGS of the module."""
    return await start_operator(**getattr(request.module, "OPERATOR_SETTINGS", {}))


@pytest_asyncio.fixture
async def line(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[SeveredLine]:
    async with SeveredLine(control_plane, tmp_path).standing() as made:
        yield made


@pytest_asyncio.fixture
async def rest(lab: Lab, control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """The API of the lab's organization, with a key of it."""
    settings = Settings.from_environment(
        {
            "CHECKLISTS_NAMESPACE": lab.namespace,
            "CHECKLISTS_SERVER_KEY": base64.b64encode(SERVER_KEY).decode(),
            "CHECKLISTS_SEALING_KEYS": SEALING_KEYS,
            "CHECKLISTS_BASE_URL": BASE_URL,
            "CHECKLISTS_RATE_LIMIT": "off",
            "CHECKLISTS_ALLOW_INSECURE_TARGETS": "1",
            "CHECKLISTS_PHOTO_STORE": (tmp_path / "photos").as_uri(),
            "CHECKLISTS_UPLOAD_FOLDER": str(tmp_path),
        }
    )
    key = api_keys.new_key()
    await lab.client.create(API_KEY, key_object(key, lab.organization, lab.namespace), lab.namespace)
    services = Services(settings, await KubeConnection.load(str(control_plane.kubeconfig)))
    async with serving(services) as base_url, http_client(base_url, key) as client:
        yield client
