"""Several real API processes on one cluster, as a balancer sees them."""

import asyncio
import base64
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from tests.waiting import eventually

from checklist_dev.system.ports import free_ports
from checklist_dev.system.processes import Child

READY_S = 90.0


class ApiProcess:
    """`python -m checklist_api`."""

    def __init__(self, folder: Path, kubeconfig: Path, namespace: str, *, name: str, **settings: str) -> None:
        port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        key = base64.b64encode(bytes(range(1, 33))).decode()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CHECKLISTS_")},
            "KUBECONFIG": str(kubeconfig),
            "CHECKLISTS_NAMESPACE": namespace,
            "CHECKLISTS_HOST": "127.0.0.1",
            "CHECKLISTS_PORT": str(port),
            "CHECKLISTS_BASE_URL": self.url,
            "CHECKLISTS_SERVER_KEY": key,
            "CHECKLISTS_SEALING_KEYS": f"k1:{key}",
            "CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(),
            **settings,
        }
        self.child = Child(name, [sys.executable, "-m", "checklist_api"], log=folder / f"{name}.log", env=environment)

    async def is_ready(self) -> bool:
        try:
            async with httpx.AsyncClient(base_url=self.url, trust_env=False) as http:
                return (await http.get("/readyz")).status_code == 200
        except httpx.TransportError:
            assert self.child.running, self.child.output()[-4000:]
            return False


@asynccontextmanager
async def api_processes(
    count: int, folder: Path, kubeconfig: Path, namespace: str, **settings: str
) -> AsyncIterator[list[ApiProcess]]:
    """Ready when given."""
    processes = [ApiProcess(folder, kubeconfig, namespace, name=f"api-{n}", **settings) for n in range(count)]
    try:
        for process in processes:
            process.child.start()
        for process in processes:
            await eventually(process.is_ready, within_s=READY_S, every_s=0.05)
        yield processes
    finally:
        for process in processes:
            await asyncio.to_thread(process.child.stop)
