"""API and operator as real processes that have nothing but their own ServiceAccount's token."""

import asyncio
import base64
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.chart_rbac.release import Release
from tests.waiting import eventually

from checklist_dev.ports import free_ports
from checklist_dev.processes import Child

READY_S = 90.0
KEY = base64.b64encode(bytes(range(1, 33))).decode()
MODULES = {"api": "checklist_api", "operator": "checklist_operator"}


@dataclass
class Program:
    """One of the two, with the environment of the chart but for addresses and folders of this machine."""

    account: str
    child: Child
    url: str
    environment: dict[str, str]

    async def restart(self) -> None:
        """Returns at once; see `until_ready`."""
        await asyncio.to_thread(self.child.kill)
        await asyncio.to_thread(self.child.start)

    async def is_ready(self) -> bool:
        """An operator is when it leads."""
        try:
            async with httpx.AsyncClient(trust_env=False) as http:
                response = await http.get(f"{self.url}/readyz")
        except httpx.TransportError:
            return False
        word = "leading" if self.account == "operator" else "ok"
        return response.status_code == 200 and bool(response.json()["status"] == word)

    async def until_ready(self) -> None:
        await eventually(self.is_ready, within_s=READY_S, every_s=0.05)


def without_settings() -> dict[str, str]:
    """The environment of this process, but for settings of the service."""
    return {name: value for name, value in os.environ.items() if not name.startswith("CHECKLISTS_")}


def programs(release: Release, folder: Path) -> dict[str, Program]:
    """Both, not started."""
    api_port, operator_port = free_ports(2)
    ports = {"api": api_port, "operator": operator_port}
    keys = {"CHECKLISTS_SERVER_KEY_FILE": KEY, "CHECKLISTS_SEALING_KEYS_FILE": f"k1:{KEY}"}
    for name, text in keys.items():
        (folder / name).write_text(text)
        keys[name] = str(folder / name)
    made = {}
    for account, module in MODULES.items():
        environment = {
            **without_settings(),
            **release.environment(account),
            "KUBECONFIG": str(release.kubeconfig(account)),
            "CHECKLISTS_HOST": "127.0.0.1",
            "CHECKLISTS_PORT": str(api_port),
            "CHECKLISTS_OPERATOR_PORT": str(operator_port),
            "CHECKLISTS_OPERATOR_ID": "operator-0",
            "CHECKLISTS_BASE_URL": f"http://127.0.0.1:{api_port}",
            "CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(),
            "CHECKLISTS_UPLOAD_FOLDER": str(folder),
            **keys,
        }
        child = Child(account, [sys.executable, "-m", module], log=folder / f"{account}.log", env=environment)
        made[account] = Program(account, child, f"http://127.0.0.1:{ports[account]}", environment)
    return made
