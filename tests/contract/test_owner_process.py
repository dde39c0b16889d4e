"""`python -m checklist_api` as a process: settings, signals, logs."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from tests.waiting import eventually

from checklist_api.settings import InvalidSetting, Settings
from checklist_crds.kube.kinds import RUN
from checklist_dev.controlplane import ControlPlane

from .conftest import WEBHOOK_SECRET, Api, http_client
from .own_process import own_process

KEY = base64.b64encode(bytes(range(32))).decode()
GOOD = {
    "CHECKLISTS_NAMESPACE": "checklists",
    "CHECKLISTS_SERVER_KEY": KEY,
    "CHECKLISTS_SEALING_KEYS": f"k1:{KEY}",
}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    command = [sys.executable, "-m", "checklist_api", *arguments]
    return subprocess.run(
        command, env={**plain, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def test_help_names_every_setting() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    for name in (*GOOD, "CHECKLISTS_PORT", "CHECKLISTS_PHOTO_STORE", "KUBECONFIG"):
        assert name in answer.stdout


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("CHECKLISTS_NAMESPACE", [""]),
        ("CHECKLISTS_SERVER_KEY", ["too-short", base64.b64encode(b"x" * 31).decode()]),
        ("CHECKLISTS_SEALING_KEYS", ["k1:not base64"]),
        ("CHECKLISTS_PORT", ["eighty", "65536"]),
        ("CHECKLISTS_RATE_LIMIT", ["fast"]),
        ("CHECKLISTS_BASE_URL", ["checklists.example", "https://a.example/api?x=1", "https://somebody@a.example"]),
        ("CHECKLISTS_TRUSTED_PROXIES", ["-1"]),
        ("CHECKLISTS_RUN_RATE_LIMIT", ["fast"]),
        ("CHECKLISTS_PHOTO_WORKERS", ["0"]),
        ("CHECKLISTS_LOG_LEVEL", ["verbose"]),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_clear_line(name: str, values: list[str]) -> None:
    for value in values:
        with pytest.raises(InvalidSetting, match=name) as refused:
            Settings.from_environment({**GOOD, name: value})
        assert "\n" not in str(refused.value)
        assert KEY not in str(refused.value)


def test_a_store_or_a_cluster_that_cannot_be_used_is_one_clear_line(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    store = {"KUBECONFIG": str(control_plane.kubeconfig), "CHECKLISTS_PHOTO_STORE": "ftp://elsewhere/photos"}
    for environment, told in (
        (store, "CHECKLISTS_PHOTO_STORE: must begin with one of file://"),
        ({"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}, "Kubernetes"),
    ):
        answer = run(**GOOD, **environment)
        assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
        assert answer.stderr.startswith("checklist_api: ")
        assert told in answer.stderr


def test_the_service_may_stand_behind_a_prefix_of_a_proxy() -> None:
    for given, kept, prefix in (
        ("https://checklists.example/", "https://checklists.example", ""),
        ("https://example.com/tools/checklists/", "https://example.com/tools/checklists", "/tools/checklists"),
    ):
        settings = Settings.from_environment({**GOOD, "CHECKLISTS_BASE_URL": given})
        assert (settings.base_url, settings.path_prefix) == (kept, prefix)


async def test_it_serves_finishes_what_is_under_way_and_ends_cleanly(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    template = await api.account.create_template()
    webhook = {"url": "https://a.example/?token=in-the-url", "secret": WEBHOOK_SECRET, "events": ["*"]}
    body = {"template_id": template["id"], "webhook": webhook}
    async with own_process(api, control_plane, tmp_path) as (process, http):
        requests = [asyncio.create_task(http.post("/v1/runs", json=body)) for _ in range(30)]
        await asyncio.wait(requests, return_when=asyncio.FIRST_COMPLETED)
        process.child.send_signal(signal.SIGTERM)
        answers = await asyncio.gather(*requests, return_exceptions=True)
        await asyncio.to_thread(process.child.wait)
        assert process.child.returncode == 0
        text = process.child.output()
    served = [answer for answer in answers if isinstance(answer, httpx.Response)]
    assert {answer.status_code for answer in served} == {201}
    assert len(await api.all_of(RUN)) == len(served)
    lines = [json.loads(line) for line in text.splitlines()]
    dispatched = [line["run_id"] for line in lines if line["event"] == "run.dispatched"]
    assert sorted(dispatched) == sorted(answer.json()["run_id"] for answer in served)
    assert [lines[0]["event"], lines[-1]["event"]] == ["api.listening", "api.stopped"]
    server_key = base64.b64encode(api.services.settings.server_key.current).decode()
    token = served[0].json()["link"].partition("#")[2]
    for secret in (WEBHOOK_SECRET, "in-the-url", api.account.key, server_key, token):
        assert secret not in text


async def test_callers_with_kept_connections_lose_no_request_and_malformed_ones_are_not_logged(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with own_process(api, control_plane, tmp_path, CHECKLISTS_RATE_LIMIT="off") as (process, _):
        port = int(process.url.rpartition(":")[2])
        for request in (
            f"GET /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {api.account.key}\x00\r\n\r\n",
            f"GET /v1/runs HTTP/1.1\r\nHost: x\r\nBad Header {api.account.key}: x\r\n\r\n",
            f"GET /{api.account.key * 300} HTTP/1.1\r\nHost: x\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request.encode())
            assert (await reader.readline()).split()[1] == b"400"
            writer.close()
        told = [json.loads(line)["event"] for line in process.child.output().splitlines()]
        # Other lines are about the start and about work in the background.
        assert [event for event in told if event.startswith("http.")] == ["http.malformed"] * 3

        elsewhere = {"KUBECONFIG": str(control_plane.kubeconfig), "CHECKLISTS_PHOTO_STORE": tmp_path.as_uri()}
        second = await asyncio.to_thread(run, **GOOD, **elsewhere, CHECKLISTS_PORT=str(port))
        assert second.returncode == 2, "the port is taken"
        assert str(port) in second.stderr.splitlines()[-1]

        answered = [0] * 4

        async def until_let_go(number: int) -> None:
            async with http_client(process.url, api.account.key) as http:
                while True:
                    answer = await http.get("/v1/usage")
                    assert answer.status_code == 200
                    answered[number] += 1
                    if answer.headers.get("Connection") == "close":
                        return

        callers = [asyncio.create_task(until_let_go(number)) for number in range(4)]
        await eventually(lambda: min(answered) > 1)
        process.child.send_signal(signal.SIGTERM)
        await asyncio.gather(*callers)
        await asyncio.to_thread(process.child.wait)
        assert process.child.returncode == 0
        assert api.account.key not in process.child.output()
