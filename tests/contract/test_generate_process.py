"""The API as a process, at debug level, with a model's server that repeats everything: what it writes down of that."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from tests.generation.model_server import (
    TEMPLATE,
    Asked,
    ModelServer,
    Writer,
    completion,
    fails,
    model_server,
    response,
    says,
)
from tests.secrets.needles import Needle

from checklist_api.settings import InvalidSetting, Settings, help_text
from checklist_dev.controlplane import ControlPlane
from checklist_dev.ports import free_ports

from .conftest import Api, http_client

KEY = "sk-3f1d0a97b2c84e65a1f0d3c9"
PROMPT = "Check the door behind the bookcase of Mnemosyne, the windows and the lights"
LEAST = {
    "CHECKLISTS_NAMESPACE": "checklists",
    "CHECKLISTS_SERVER_KEY": base64.b64encode(bytes(32)).decode(),
    "CHECKLISTS_SEALING_KEYS": "k1:" + base64.b64encode(bytes(32)).decode(),
}


async def echoes(asked: Asked, writer: Writer) -> None:
    """Key and prompt, in a header and in an answer that is no template."""
    writer.write(response(completion(f"{asked.headers} {asked.said}"), X_Echo=asked.headers["authorization"]))


async def repeats_the_key(asked: Asked, writer: Writer) -> None:
    key = asked.headers["authorization"].removeprefix("Bearer ")
    writer.write(response(completion(json.dumps(TEMPLATE | {"name": key}))))


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    said = [says(TEMPLATE), repeats_the_key, echoes, echoes, echoes, fails("401 Unauthorized", KEY.encode())]
    async with model_server(*said) as server:
        yield server


async def test_neither_key_nor_prompt_nor_template_is_written_down(
    api: Api, control_plane: ControlPlane, server: ModelServer, tmp_path: Path
) -> None:
    log, port = tmp_path / "api.log", free_ports(1)[0]
    settings = api.services.settings
    environment = {
        **os.environ,
        **LEAST,
        "CHECKLISTS_NAMESPACE": settings.namespace,
        "CHECKLISTS_SERVER_KEY": base64.b64encode(settings.server_key.current).decode(),
        "CHECKLISTS_PORT": str(port),
        "CHECKLISTS_LOG_LEVEL": "DEBUG",
        "CHECKLISTS_ACCESS_LOG": "1",
        "CHECKLISTS_MODEL_URL": server.url,
        "CHECKLISTS_MODEL_NAME": "test-model",
        "CHECKLISTS_MODEL_KEY": KEY,
        "KUBECONFIG": str(control_plane.kubeconfig),
    }
    child = subprocess.Popen([sys.executable, "-m", "checklist_api"], env=environment, stderr=log.open("w"))
    try:
        http = http_client(f"http://127.0.0.1:{port}", api.account.key)
        await _ready(http, log)
        answers = [await http.post("/v1/templates/generate", json={"prompt": PROMPT}) for _ in range(4)]
        metrics = (await http.get("/metrics")).content
        await http.aclose()
    finally:
        child.send_signal(signal.SIGTERM)
        status = await asyncio.to_thread(child.wait, 15)
    assert status == 0
    assert [answer.headers["X-Generated-By"] for answer in answers] == [
        "model", "composer; reason=model_nonsense", "composer; reason=model_nonsense",
        "composer; reason=model_unauthorized",
    ]  # fmt: skip
    written = log.read_bytes()
    assert b"model_unauthorized" in written, "the search sees something"
    said = b"".join(answer.content + str(answer.headers).encode() for answer in answers)
    for place in (written, metrics, said):
        assert Needle.text("key", KEY).found_in(place) == []
    for word in (b"bookcase", b"Mnemosyne", b"Cold room", b"seal"):
        assert word not in written + metrics


async def _ready(http: httpx.AsyncClient, log: Path) -> None:
    for _ in range(300):
        try:
            if (await http.get("/readyz")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)
    pytest.fail(f"not ready: {log.read_text()}")


def test_the_help_names_the_models_settings() -> None:
    assert "CHECKLISTS_MODEL_URL" in help_text()
    assert "{" not in help_text()


def test_a_setting_of_the_model_that_cannot_be_used_keeps_the_service_from_starting() -> None:
    wrong = {"CHECKLISTS_MODEL_URL": "https://models.example/v1", "CHECKLISTS_MODEL_KEY": KEY}
    with pytest.raises(InvalidSetting, match="CHECKLISTS_MODEL_NAME is not set"):
        Settings.from_environment(LEAST | wrong)
    settings = Settings.from_environment(LEAST | wrong | {"CHECKLISTS_MODEL_NAME": "m"})
    assert settings.model is not None
    assert Needle.text("key", KEY).found_in(repr(settings).encode()) == []
