"""`python -m checklist_api` as a process: settings and keys that change, signals, logs."""

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
from tests.contract.conftest import WEBHOOK_SECRET, Api, http_client
from tests.contract.own_process import own_process
from tests.generation.model_server import TEMPLATE, Asked, Writer, completion, fails, model_server, response, says
from tests.secrets.needles import Needle
from tests.unit.core.test_settings import GOOD
from tests.waiting import eventually

from checklist_crds.ids import object_id
from checklist_crds.resources.kinds import RUN
from checklist_crds.secrets.sealing import KeyRing, ServerKeys, executor_token, run_owner, sealing_key_of
from checklist_dev.local.controlplane import ControlPlane


def run(*arguments: str, module: str = "checklist_api", **environment: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(
        command, env={**plain, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


def test_help_names_settings_and_a_store_or_cluster_that_cannot_be_used_is_one_clear_line(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    printed = run("--help").stdout
    assert [name for name in (*GOOD, "CHECKLISTS_PORT", "KUBECONFIG") if name not in printed] == []
    store = {"KUBECONFIG": str(control_plane.kubeconfig), "CHECKLISTS_PHOTO_STORE": "ftp://elsewhere/photos"}
    for environment, why in (
        (store, "CHECKLISTS_PHOTO_STORE: must begin with one of file://"),
        ({"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}, "Kubernetes"),
    ):
        answer = run(**GOOD, **environment)
        assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
        assert answer.stderr.startswith("checklist_api: ")
        assert why in answer.stderr


@pytest.mark.parametrize("program", ["checklist_api", "checklist-operator"])
def test_a_start_with_bad_settings_ends_in_one_line_that_names_all_of_them(program: str, tmp_path: Path) -> None:
    (file := tmp_path / "server-key").write_text("c2VjcmV0IG9mIHRoZSB0ZXN0")
    environment = {
        "CHECKLISTS_NAMESPACE": "checklists",
        "CHECKLISTS_SERVER_KEY_FILE": str(file),
        "CHECKLISTS_ALLOW_INSECURE_TARGETS": "perhaps",
        "CHECKLISTS_LOG_LEVLE": "INFO",
    }
    answer = run(module=program.replace("-", "_"), **environment)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert file.read_text() not in answer.stderr
    faults = answer.stderr.removeprefix(f"{program}: ").removesuffix("\n").split("; ")
    # Their words: tests/unit/core/test_settings.py.
    names = sorted({*environment, "CHECKLISTS_SEALING_KEYS"} - {"CHECKLISTS_NAMESPACE"})
    assert sorted(each.split()[0].strip(":") for each in faults) == names


async def test_it_serves_finishes_what_is_under_way_and_ends_cleanly(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    template = await api.account.create_template()
    webhook = {"url": "https://a.example/?token=in-the-url", "secret": WEBHOOK_SECRET, "events": ["*"]}
    body = {"template_id": template["id"], "webhook": webhook}
    async with own_process(api, control_plane, tmp_path) as (process, http):
        # At most as many as the API may have under way at the cluster: none waits, none may be refused.
        requests = [asyncio.create_task(http.post("/v1/runs", json=body)) for _ in range(16)]
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


async def test_callers_with_kept_connections_lose_no_request_and_a_port_is_taken_once(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with own_process(api, control_plane, tmp_path, CHECKLISTS_RATE_LIMIT="off") as (process, _):
        port = int(process.url.rpartition(":")[2])
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


NEW = os.urandom(32)


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


async def test_keys_change_without_a_restart_old_links_open_and_new_ones_are_of_the_new_key(
    api: Api, control_plane: ControlPlane, tmp_path: Path, server_key: bytes, sealing_keys: str
) -> None:
    (folder := tmp_path / "keys").mkdir()
    server_file, sealing_file = folder / "server-key", folder / "sealing-keys"
    server_file.write_text(_b64(server_key))
    sealing_file.write_text(sealing_keys)
    settings = {
        "CHECKLISTS_SERVER_KEY_FILE": str(server_file),
        "CHECKLISTS_SEALING_KEYS_FILE": str(sealing_file),
    }
    template = await api.account.create_template()
    webhook = {"url": "https://hooks.example/", "secret": WEBHOOK_SECRET, "events": ["*"]}
    body = {"template_id": template["id"], "webhook": webhook}
    async with own_process(api, control_plane, tmp_path, **settings) as (program, http):

        async def dispatch(key: str) -> dict[str, str]:
            answer = await http.post("/v1/runs", json=body, headers={"Idempotency-Key": key})
            assert answer.status_code == 201, answer.text
            return dict(answer.json())

        async def status_with(link: str) -> int:
            run_id, _, token = link.rpartition("/")[2].partition("#")
            headers = {"Authorization": f"Executor {token}"}
            return (await http.get(f"/v1/executor/runs/{run_id}", headers=headers)).status_code

        async def until_logged(event: str, times: int) -> None:
            def logged() -> bool:
                events = [json.loads(line)["event"] for line in program.child.output().splitlines()]
                return sum(each.startswith(event) for each in events) == times

            await eventually(logged)

        before = await dispatch("one")
        assert before["link"].endswith(
            "#" + executor_token(ServerKeys(server_key), object_id("org", api.organization), before["run_id"])
        )

        # A file that cannot be used is logged, and changes nothing.
        server_file.write_text("not a key at all")
        await until_logged("settings.file_refused", 1)
        assert await status_with(before["link"]) == 200
        ready = (await http.get("/readyz")).json()
        assert ready["notes"] == ["CHECKLISTS_SERVER_KEY_FILE: the file cannot be used; its previous value is"]
        metrics = (await http.get("/metrics")).text
        assert 'checklists_setting_stale{setting="CHECKLISTS_SERVER_KEY_FILE"} 1.0' in metrics

        server_file.write_text(f"{_b64(NEW)},{_b64(server_key)}")
        sealing_file.write_text(f"k2:{_b64(NEW)},{sealing_keys}")
        await until_logged("settings.file_taken", 2)
        assert await status_with(before["link"]) == 200
        after = await dispatch("two")
        assert after["link"].endswith(
            "#" + executor_token(ServerKeys(NEW), object_id("org", api.organization), after["run_id"])
        )
        assert await status_with(after["link"]) == 200
        # The same request again, from before the change: the same run, now with a link of the new key.
        again = await dispatch("one")
        assert again["run_id"] == before["run_id"]
        assert again["link"].endswith(
            "#" + executor_token(ServerKeys(NEW), object_id("org", api.organization), before["run_id"])
        )
        sealed = (await api.kube.get(RUN, after["run_id"], api.namespace))["spec"]["webhook"]["sealedSecret"]
        assert sealing_key_of(sealed) == "k2"
        ring = KeyRing.parse(f"k2:{_b64(NEW)}")
        assert ring.open(sealed, owner=run_owner(api.namespace, after["run_id"])) == WEBHOOK_SECRET

        # The old key goes: so do its links.
        server_file.write_text(_b64(NEW))
        await until_logged("settings.file_taken", 3)
        assert await status_with(before["link"]) == 401
        assert await status_with(after["link"]) == 200
        assert program.child.running
        for secret in ("not a key at all", _b64(NEW), _b64(server_key)):
            assert secret not in program.child.output()


# --- a model's server that repeats everything: what the API writes down of it at debug level

MODEL_KEY = "sk-3f1d0a97b2c84e65a1f0d3c9"
PROMPT = """Checklist for the bookcase of Mnemosyne:
- Temperature of the cold room in °C
- State of the door seal: good or broken. If it is broken, describe the damage."""


async def echoes(asked: Asked, writer: Writer) -> None:
    """Key and prompt, in a header and in an answer that is no template."""
    writer.write(response(completion(f"{asked.headers} {asked.said}"), X_Echo=asked.headers["authorization"]))


async def repeats_the_key(asked: Asked, writer: Writer) -> None:
    key = asked.headers["authorization"].removeprefix("Bearer ")
    writer.write(response(completion(json.dumps(TEMPLATE | {"name": key}))))


async def test_neither_key_nor_prompt_nor_template_is_written_down(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    behaviour = [says(TEMPLATE), repeats_the_key, echoes, echoes, echoes, fails("401 Unauthorized", MODEL_KEY.encode())]
    async with model_server(*behaviour) as server:
        settings = {
            "CHECKLISTS_LOG_LEVEL": "DEBUG",
            "CHECKLISTS_ACCESS_LOG": "1",
            "CHECKLISTS_MODEL_URL": server.url,
            "CHECKLISTS_MODEL_NAME": "test-model",
            "CHECKLISTS_MODEL_KEY": MODEL_KEY,
        }
        async with own_process(api, control_plane, tmp_path, **settings) as (process, http):
            answers = [await http.post("/v1/templates/generate", json={"prompt": PROMPT}) for _ in range(4)]
            metrics = (await http.get("/metrics")).content
    written = process.child.output().encode()
    reasons = ("model_nonsense", "model_nonsense", "model_unauthorized")
    expected = ["model", *(f"composer; reason={reason}" for reason in reasons)]
    assert [answer.headers["X-Generated-By"] for answer in answers] == expected
    assert b"model_unauthorized" in written, "the search sees something"
    said = b"".join(answer.content + str(answer.headers).encode() for answer in answers)
    for place in (written, metrics, said):
        assert Needle.text("key", MODEL_KEY).found_in(place) == []
    for word in (b"bookcase", b"Mnemosyne", b"Cold room", b"seal"):
        assert word not in written + metrics
