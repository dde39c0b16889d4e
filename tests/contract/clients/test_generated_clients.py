"""Clients generated from the served OpenAPI document compile and complete a checklist against the real API."""

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.contract.conftest import Api
from tests.contract.pictures import picture

from checklist_dev.programs.generated_clients import Client, go_client, python_client, typescript_client

GENERATORS = {"python": python_client, "typescript": typescript_client, "go": go_client}
WITHIN_S = 120


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
async def test_a_generated_client_completes_a_checklist(api: Api, make: Callable[..., Client], tmp_path: Path) -> None:
    document = tmp_path / "openapi.json"
    document.write_bytes((await api.anonymous.get("/v1/openapi.json")).content)
    folder = tmp_path / "client"
    folder.mkdir()
    client = await asyncio.to_thread(make, document, folder)
    photo = base64.b64encode(picture()).decode()
    found = await run_client(client, {"base_url": api.base_url, "key": api.account.key, "photo": photo})

    run = (await api.http.get(f"/v1/runs/{found['run_id']}")).json()
    schema = (await api.http.get(f"/v1/runs/{found['run_id']}/answer-schema")).json()
    assert Draft202012Validator(schema).is_valid(run["answers"])
    assert run["status"] == "completed"
    assert found == {
        "run_id": run["run_id"],
        "status": "completed",
        "source": "s-clean",
        "values": {"s-clean": False, "s-why": "The drain", "s-temp": 21.123456789, "s-shelf": True},
        "photos": 1,
        "completed": True,
        "schema": schema,
        "refusal": "run_not_found",
    }
    assert found["values"] == {step_id: answer["value"] for step_id, answer in run["answers"].items()}


async def run_client(client: Client, given: dict[str, str]) -> dict[str, Any]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *client.command, env=dict(client.env), stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(json.dumps(given).encode()), WITHIN_S)
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode == 0, errors.decode()[-3000:]
    found: dict[str, Any] = json.loads(output)
    return found
