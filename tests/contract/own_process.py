"""The API as a process of its own, on the account of the `api` of a test."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from tests.replicas.api_processes import ApiProcess
from tests.waiting import eventually

from checklist_dev.local.controlplane import ControlPlane

from .conftest import Api, http_client
from .executor_client import Person


@asynccontextmanager
async def own_process(
    api: Api, control_plane: ControlPlane, folder: Path, **settings: str
) -> AsyncIterator[tuple[ApiProcess, httpx.AsyncClient]]:
    """A process that is ready, with the server key of `api` unless a file has it; and a client of its account."""
    shared = {"CHECKLISTS_BASE_URL": api.services.settings.base_url, "CHECKLISTS_UPLOAD_FOLDER": str(folder)}
    shared["CHECKLISTS_SERVER_KEY"] = base64.b64encode(api.services.settings.server_key.current).decode()
    program = ApiProcess(folder, control_plane.kubeconfig, api.namespace, name="api", **shared | settings)
    for name in settings:  # what is in a file must not be in the environment, too
        (program.child._env or {}).pop(name.removesuffix("_FILE") if name.endswith("_FILE") else "", None)
    program.child.start()
    try:
        await eventually(program.is_ready, within_s=300)  # reads everything first, in some tests 100 MB
        async with http_client(program.url, api.account.key) as http:
            yield program, http
    finally:
        await asyncio.to_thread(program.child.stop)


async def upload(
    program: ApiProcess, person: Person, body: bytes | AsyncIterator[bytes], timeout_s: float = 180, **query: str
) -> httpx.Response:
    headers = {"Authorization": f"Executor {person.token}", "Content-Type": "image/jpeg"}
    path = f"/v1/executor/runs/{person.run_id}/answers/s-a/photos"
    async with httpx.AsyncClient(base_url=program.url, timeout=timeout_s, trust_env=False) as http:
        return await http.post(path, params=query, content=body, headers=headers)
