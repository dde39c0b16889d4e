"""`python -m checklist_api` as a process: settings, signals, logs."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from checklist_api.settings import Settings
from checklist_crds.kube.kinds import RUN
from checklist_dev.controlplane import ControlPlane
from checklist_dev.ports import free_ports

from .conftest import WEBHOOK_SECRET, Api, http_client

KEY = base64.b64encode(bytes(range(32))).decode()
GOOD = {
    "CHECKLISTS_NAMESPACE": "checklists",
    "CHECKLISTS_SERVER_KEY": KEY,
    "CHECKLISTS_SEALING_KEYS": f"k1:{KEY}",
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    return subprocess.run(
        [sys.executable, "-m", "checklist_api", *arguments],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_help_names_every_setting() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    for name in (
        *GOOD,
        "CHECKLISTS_PORT",
        "CHECKLISTS_BASE_URL",
        "CHECKLISTS_RATE_LIMIT",
        "CHECKLISTS_PHOTO_STORE",
        "KUBECONFIG",
    ):
        assert name in answer.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHECKLISTS_NAMESPACE", ""),
        ("CHECKLISTS_SERVER_KEY", "too-short"),
        ("CHECKLISTS_SERVER_KEY", base64.b64encode(b"x" * 31).decode()),
        ("CHECKLISTS_SEALING_KEYS", "k1:not base64"),
        ("CHECKLISTS_PORT", "eighty"),
        ("CHECKLISTS_PORT", "65536"),
        ("CHECKLISTS_RATE_LIMIT", "fast"),
        ("CHECKLISTS_BASE_URL", "checklists.example"),
        ("CHECKLISTS_BASE_URL", "https://checklists.example/api?x=1"),
        ("CHECKLISTS_BASE_URL", "https://somebody@checklists.example"),
        ("CHECKLISTS_ALLOW_INSECURE_TARGETS", "perhaps"),
        ("CHECKLISTS_TRUSTED_PROXIES", "-1"),
        ("CHECKLISTS_RUN_RATE_LIMIT", "fast"),
        ("CHECKLISTS_PHOTO_WORKERS", "0"),
        ("CHECKLISTS_LOG_LEVEL", "verbose"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_clear_line(name: str, value: str) -> None:
    answer = run(**{**GOOD, name: value})
    assert answer.returncode == 2
    assert answer.stderr.startswith("checklist_api: ")
    assert answer.stderr.count("\n") == 1
    assert name in answer.stderr
    assert KEY not in answer.stderr


def test_a_photo_store_that_cannot_be_is_one_clear_line(control_plane: ControlPlane) -> None:
    answer = run(**GOOD, KUBECONFIG=str(control_plane.kubeconfig), CHECKLISTS_PHOTO_STORE="ftp://elsewhere/photos")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert answer.stderr.startswith("checklist_api: CHECKLISTS_PHOTO_STORE: must begin with one of file://")


def test_without_a_cluster_to_talk_to_it_says_so_in_one_line(tmp_path: Path) -> None:
    answer = run(**GOOD, KUBECONFIG=str(tmp_path / "none"), HOME=str(tmp_path))
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert "Kubernetes" in answer.stderr


class Process:
    """The API as a process of its own, on the account of `api`."""

    def __init__(
        self, api: Api, control_plane: ControlPlane, log: Path, port: int | None = None, **settings: str
    ) -> None:
        self.port = port or free_ports(1)[0]
        self.log = log
        shared = api.services.settings
        self._environment = {
            **os.environ,
            **GOOD,
            "CHECKLISTS_NAMESPACE": shared.namespace,
            "CHECKLISTS_SERVER_KEY": base64.b64encode(shared.server_key.current).decode(),
            "CHECKLISTS_PORT": str(self.port),
            "KUBECONFIG": str(control_plane.kubeconfig),
            # A folder of its own: in a shared one it removes, and logs, what processes of other tests have left.
            "CHECKLISTS_UPLOAD_FOLDER": str(log.parent),
            **settings,
        }
        self.http: httpx.AsyncClient = http_client(f"http://127.0.0.1:{self.port}", api.account.key)

    def start(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "checklist_api"], env=self._environment, stderr=self.log.open("w")
        )

    async def ready(self) -> None:
        for _ in range(300):
            try:
                if (await self.http.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
        pytest.fail(f"not ready: {self.log.read_text()}")

    async def ended(self) -> int:
        return await asyncio.to_thread(self.child.wait, 15)


@pytest.fixture
async def processes(api: Api, control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(port: int | None = None, **settings: str) -> Process:
        process = Process(api, control_plane, tmp_path / f"api-{len(started)}.log", port, **settings)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.child.kill()
        process.child.wait()
        await process.http.aclose()


async def test_it_serves_finishes_what_is_under_way_and_ends_cleanly(
    api: Api, processes: Callable[..., Process]
) -> None:
    process = processes()
    await process.ready()
    template = await api.account.create_template()
    webhook = {"url": "https://a.example/?token=in-the-url", "secret": WEBHOOK_SECRET, "events": ["*"]}
    requests = [
        asyncio.create_task(process.http.post("/v1/runs", json={"template_id": template["id"], "webhook": webhook}))
        for _ in range(30)
    ]
    await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
    process.child.send_signal(signal.SIGTERM)
    answers = await asyncio.gather(*requests, return_exceptions=True)
    assert await process.ended() == 0
    served = [answer for answer in answers if isinstance(answer, httpx.Response)]
    assert {answer.status_code for answer in served} == {201}
    runs, _ = await api.kube.list_all(RUN, api.namespace)
    assert len(runs) == len(served)

    text = process.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    dispatched = [line["run_id"] for line in lines if line["event"] == "run.dispatched"]
    assert sorted(dispatched) == sorted(answer.json()["run_id"] for answer in served)
    assert [lines[0]["event"], lines[-1]["event"]] == ["api.listening", "api.stopped"]
    for secret in (WEBHOOK_SECRET, "in-the-url", api.account.key, KEY, served[0].json()["link"].partition("#")[2]):
        assert secret not in text


async def test_callers_with_kept_connections_lose_no_request_when_it_ends(
    api: Api, processes: Callable[..., Process]
) -> None:
    process = processes(CHECKLISTS_RATE_LIMIT="off")
    await process.ready()

    async def until_let_go() -> int:
        """How many requests were answered, until an answer says that the connection ends."""
        async with http_client(f"http://127.0.0.1:{process.port}", api.account.key) as http:
            for answered in range(1, 100_000):
                answer = await http.get("/v1/usage")
                assert answer.status_code == 200
                if answer.headers.get("Connection") == "close":
                    return answered
        raise AssertionError("nobody was told of the end")

    callers = [asyncio.create_task(until_let_go()) for _ in range(4)]
    await asyncio.sleep(0.5)
    process.child.send_signal(signal.SIGTERM)
    assert min(await asyncio.gather(*callers)) > 1
    assert await process.ended() == 0


async def test_what_is_no_http_leaves_no_trace_of_its_content_in_the_log(
    api: Api, processes: Callable[..., Process]
) -> None:
    process = processes()
    await process.ready()
    for request in (
        f"GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.account.key}\x00\r\n\r\n",
        f"GET /v1/runs HTTP/1.1\r\nHost: x\r\nBad Header {api.account.key}: x\r\n\r\n",
        f"GET /{api.account.key * 300} HTTP/1.1\r\nHost: x\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        writer.write(request.encode())
        assert (await reader.readline()).split()[1] == b"400"
        writer.close()
    text = process.log.read_text()
    events = [json.loads(line)["event"] for line in text.splitlines()]
    # Other lines are about the start and about work in the background.
    assert [event for event in events if event.startswith("http.")] == ["http.malformed"] * 3
    assert api.account.key not in text


async def test_a_port_that_is_taken_is_one_clear_line(processes: Callable[..., Process]) -> None:
    first = processes()
    await first.ready()
    second = processes(first.port)
    assert await second.ended() == 2
    assert str(first.port) in second.log.read_text().splitlines()[-1]


def test_the_service_may_stand_behind_a_prefix_of_a_proxy() -> None:
    secrets = {name: value for name, value in GOOD.items() if name != "KUBECONFIG"}
    for given, kept, prefix in (
        ("https://checklists.example/", "https://checklists.example", ""),
        ("https://example.com/tools/checklists/", "https://example.com/tools/checklists", "/tools/checklists"),
    ):
        settings = Settings.from_environment({**secrets, "CHECKLISTS_BASE_URL": given})
        assert (settings.base_url, settings.path_prefix) == (kept, prefix)
