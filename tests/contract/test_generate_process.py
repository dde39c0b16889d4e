"""The API as a process, at debug level, with a model's server that repeats everything: what it writes down of that."""

import json
from pathlib import Path

from tests.generation.model_server import TEMPLATE, Asked, Writer, completion, fails, model_server, response, says
from tests.secrets.needles import Needle

from checklist_dev.controlplane import ControlPlane

from .conftest import Api
from .own_process import own_process

KEY = "sk-3f1d0a97b2c84e65a1f0d3c9"
PROMPT = "Check the door behind the bookcase of Mnemosyne, the windows and the lights"


async def echoes(asked: Asked, writer: Writer) -> None:
    """Key and prompt, in a header and in an answer that is no template."""
    writer.write(response(completion(f"{asked.headers} {asked.said}"), X_Echo=asked.headers["authorization"]))


async def repeats_the_key(asked: Asked, writer: Writer) -> None:
    key = asked.headers["authorization"].removeprefix("Bearer ")
    writer.write(response(completion(json.dumps(TEMPLATE | {"name": key}))))


async def test_neither_key_nor_prompt_nor_template_is_written_down(
    api: Api, control_plane: ControlPlane, tmp_path: Path
) -> None:
    behaviour = [says(TEMPLATE), repeats_the_key, echoes, echoes, echoes, fails("401 Unauthorized", KEY.encode())]
    async with model_server(*behaviour) as server:
        settings = {
            "CHECKLISTS_LOG_LEVEL": "DEBUG",
            "CHECKLISTS_ACCESS_LOG": "1",
            "CHECKLISTS_MODEL_URL": server.url,
            "CHECKLISTS_MODEL_NAME": "test-model",
            "CHECKLISTS_MODEL_KEY": KEY,
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
        assert Needle.text("key", KEY).found_in(place) == []
    for word in (b"bookcase", b"Mnemosyne", b"Cold room", b"seal"):
        assert word not in written + metrics
