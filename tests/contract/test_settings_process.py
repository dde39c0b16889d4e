"""Settings of the real programs: what stops a start, and keys that change while they run."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from checklist_crds.kube.kinds import RUN
from checklist_crds.sealing import KeyRing, ServerKeys, executor_token, run_owner, sealing_key_of
from checklist_dev.controlplane import ControlPlane
from checklist_dev.ports import free_ports

from .conftest import WEBHOOK_SECRET, Api, http_client

NEW = os.urandom(32)
PROGRAMS = pytest.mark.parametrize(
    ("module", "name"), [("checklist_api", "checklist_api"), ("checklist_operator", "checklist-operator")]
)


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}


@PROGRAMS
def test_a_start_with_bad_settings_ends_in_one_line_that_names_all_of_them(
    module: str, name: str, tmp_path: Path
) -> None:
    (file := tmp_path / "server-key").write_text("c2VjcmV0IG9mIHRoZSB0ZXN0")
    answer = subprocess.run(
        [sys.executable, "-m", module],
        env={
            **_plain(),
            "CHECKLISTS_NAMESPACE": "checklists",
            "CHECKLISTS_SERVER_KEY_FILE": str(file),
            "CHECKLISTS_ALLOW_INSECURE_TARGETS": "perhaps",
            "CHECKLISTS_LOG_LEVLE": "INFO",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"{name}: ")
    assert sorted(answer.stderr.removeprefix(f"{name}: ").removesuffix("\n").split("; ")) == [
        "CHECKLISTS_ALLOW_INSECURE_TARGETS must be 1 or 0, not 'perhaps'",
        "CHECKLISTS_LOG_LEVLE is no setting (did you mean CHECKLISTS_LOG_LEVEL?)",
        "CHECKLISTS_SEALING_KEYS is not set (nor CHECKLISTS_SEALING_KEYS_FILE)",
        f"CHECKLISTS_SERVER_KEY_FILE: {file} must be base64 of 32 bytes",
    ]


class Program:
    """The API as a process of its own, whose keys are in files, on the account of `api`."""

    def __init__(self, api: Api, control_plane: ControlPlane, folder: Path, server_key: bytes, sealing: str) -> None:
        self.port = free_ports(1)[0]
        self.log = folder / "api.log"
        self.server_key, self.sealing = folder / "server-key", folder / "sealing-keys"
        self.server_key.write_text(_b64(server_key))
        self.sealing.write_text(sealing)
        environment = {
            **_plain(),
            "KUBECONFIG": str(control_plane.kubeconfig),
            "CHECKLISTS_NAMESPACE": api.namespace,
            "CHECKLISTS_SERVER_KEY_FILE": str(self.server_key),
            "CHECKLISTS_SEALING_KEYS_FILE": str(self.sealing),
            "CHECKLISTS_PORT": str(self.port),
            "CHECKLISTS_PHOTO_STORE": (folder / "photos").as_uri(),
        }
        self.child = subprocess.Popen(
            [sys.executable, "-m", "checklist_api"], env=environment, stderr=self.log.open("w")
        )
        self.http: httpx.AsyncClient = http_client(f"http://127.0.0.1:{self.port}", api.account.key)

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(600):
            if condition():
                return
            await asyncio.sleep(0.1)
        pytest.fail(f"not in a minute: {self.log.read_text()}")

    async def ready(self) -> None:
        for _ in range(600):
            try:
                if (await self.http.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)
        pytest.fail(f"not ready: {self.log.read_text()}")

    def told(self, event: str) -> int:
        return sum(json.loads(line)["event"].startswith(event) for line in self.log.read_text().splitlines())

    async def answered(self, link: str) -> int:
        """The status for whoever has `link`."""
        run_id, _, token = link.rpartition("/")[2].partition("#")
        answer = await self.http.get(f"/v1/executor/runs/{run_id}", headers={"Authorization": f"Executor {token}"})
        return answer.status_code


@pytest.fixture
async def program(
    api: Api, control_plane: ControlPlane, tmp_path: Path, server_key: bytes, sealing_keys: str
) -> AsyncIterator[Program]:
    (folder := tmp_path / "program").mkdir()
    program = Program(api, control_plane, folder, server_key, sealing_keys)
    yield program
    program.child.kill()
    program.child.wait()
    await program.http.aclose()


async def test_keys_change_without_a_restart_old_links_open_and_new_ones_are_of_the_new_key(
    api: Api, program: Program, server_key: bytes, sealing_keys: str
) -> None:
    await program.ready()
    template = await api.account.create_template()
    body = {
        "template_id": template["id"],
        "webhook": {"url": "https://hooks.example/", "secret": WEBHOOK_SECRET, "events": ["*"]},
    }

    async def dispatch(key: str) -> dict[str, str]:
        answer = await program.http.post("/v1/runs", json=body, headers={"Idempotency-Key": key})
        assert answer.status_code == 201, answer.text
        run: dict[str, str] = answer.json()
        return run

    before = await dispatch("one")
    assert before["link"].endswith("#" + executor_token(ServerKeys(server_key), before["run_id"]))

    # A file that cannot be used is told, and changes nothing.
    program.server_key.write_text("not a key at all")
    await program.until(lambda: program.told("settings.file_refused") == 1)
    assert await program.answered(before["link"]) == 200
    ready = (await program.http.get("/readyz")).json()
    assert ready["notes"] == ["CHECKLISTS_SERVER_KEY_FILE: the file cannot be used; its value from before is"]
    metrics = (await program.http.get("/metrics")).text
    assert 'checklists_setting_stale{setting="CHECKLISTS_SERVER_KEY_FILE"} 1.0' in metrics

    program.server_key.write_text(f"{_b64(NEW)},{_b64(server_key)}")
    program.sealing.write_text(f"k2:{_b64(NEW)},{sealing_keys}")
    await program.until(lambda: program.told("settings.file_taken") == 2)
    assert await program.answered(before["link"]) == 200
    after = await dispatch("two")
    assert after["link"].endswith("#" + executor_token(ServerKeys(NEW), after["run_id"]))
    assert await program.answered(after["link"]) == 200
    # The same request again, from before the change: the same run, now with a link of the new key.
    again = await dispatch("one")
    assert again["run_id"] == before["run_id"]
    assert again["link"].endswith("#" + executor_token(ServerKeys(NEW), before["run_id"]))
    sealed = (await api.kube.get(RUN, after["run_id"], api.namespace))["spec"]["webhook"]["sealedSecret"]
    assert sealing_key_of(sealed) == "k2"
    ring = KeyRing.parse(f"k2:{_b64(NEW)}")
    assert ring.open(sealed, owner=run_owner(api.namespace, after["run_id"])) == WEBHOOK_SECRET

    # The old key goes: so do its links.
    program.server_key.write_text(_b64(NEW))
    await program.until(lambda: program.told("settings.file_taken") == 3)
    assert await program.answered(before["link"]) == 401
    assert await program.answered(after["link"]) == 200
    assert program.child.poll() is None
    text = program.log.read_text()
    assert "not a key at all" not in text
    assert _b64(NEW) not in text
    assert _b64(server_key) not in text
