"""What one organization stores leaves the API its memory. (Limits over replicas: test_limits.py.)"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from tests.contract.conftest import Account, Api, definition, http_client
from tests.contract.own_process import own_process
from tests.contract.photos.test_own_process import peak_mib
from tests.replicas.api_processes import ApiProcess
from tests.waiting import eventually

from checklist_crds.templates.validation import canonical_size
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.crd_install import install_crds
from checklist_dev.local.etcd import copy_template
from checklist_dev.perf.bench.traffic.large_templates import LARGE, LIMIT_MIB

TEMPLATES = 600


@pytest.fixture
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One of its own, with as much memory as it likes: what 600 large templates cost it is not the subject."""
    with ControlPlane(tmp_path_factory.mktemp("cluster"), ephemeral=True, memory_target=None) as cluster:
        install_crds(cluster.run_kubectl)
        yield cluster


UNCAPPED = {"CHECKLISTS_MAX_TEMPLATE_BYTES": str(2**30), "CHECKLISTS_RATE_LIMIT": "off"}


async def _fill(api: Api, http: httpx.AsyncClient, control_plane: ControlPlane) -> list[str]:
    """Ids of large templates: one by REST, the others as copies of it in etcd."""
    made = await http.post("/v1/templates", json=LARGE)
    assert made.status_code == 201, made.text
    ids = await copy_template(control_plane.etcd_url, str(made.json()["id"]), TEMPLATES, namespace=api.namespace)
    await eventually(lambda: _lists_all(http), within_s=300, every_s=0.2)
    return ids


async def _lists_all(http: httpx.AsyncClient) -> bool:
    answer = await http.get("/v1/templates")  # 503 while the API server is busy with reading them
    return answer.status_code == 200 and answer.json()["pagination"]["total"] == TEMPLATES


@asynccontextmanager
async def _answering(process: ApiProcess, account: Account) -> AsyncIterator[None]:
    """Another organization's requests, one after the other, which are all answered while the block runs."""
    statuses: Counter[int] = Counter()

    async def request() -> None:
        template = definition(name="Of another organization")
        async with http_client(process.url, account.key) as http:
            path = f"/v1/templates/{(await http.post('/v1/templates', json=template)).json()['id']}"
            while True:
                statuses[(await http.get(path)).status_code] += 1
                statuses[(await http.get("/v1/templates")).status_code] += 1

    task = asyncio.create_task(request())
    try:
        yield
        before = statuses.total()
        await eventually(lambda: statuses.total() >= before + 4 or task.done())
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert set(statuses) == {200}


async def test_large_templates_of_one_organization_leave_the_others_the_api(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    assert 150_000 < canonical_size(LARGE) < 200_000
    other = await api.make_account()
    async with own_process(api, control_plane, tmp_path, **UNCAPPED) as (process, http):
        ids = await _fill(api, http, control_plane)
        assert peak_mib(process) < LIMIT_MIB
    async with own_process(api, control_plane, tmp_path, **UNCAPPED) as (process, http):
        async with _answering(process, other):
            listed = (await http.get("/v1/templates")).json()["pagination"]
            read = await asyncio.gather(*(http.get(f"/v1/templates/{one}") for one in ids[::40]))
            runs = [await http.post("/v1/runs", json={"template_id": one}) for one in ids[::60]]
        assert listed["total"] == TEMPLATES
        assert {answer.status_code for answer in read} == {200}
        assert {answer.status_code for answer in runs} == {201}
        assert peak_mib(process) < LIMIT_MIB
