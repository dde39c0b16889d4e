"""Settings of the real programs: what stops a start, and keys that change while they run."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import eventually

from checklist_crds.ids import object_id
from checklist_crds.kube.kinds import RUN
from checklist_crds.sealing import KeyRing, ServerKeys, executor_token, run_owner, sealing_key_of
from checklist_dev.controlplane import ControlPlane

from .conftest import WEBHOOK_SECRET, Api
from .own_process import own_process

NEW = os.urandom(32)


def _b64(key: bytes) -> str:
    return base64.b64encode(key).decode()


@pytest.mark.parametrize(
    ("module", "name"), [("checklist_api", "checklist_api"), ("checklist_operator", "checklist-operator")]
)
def test_a_start_with_bad_settings_ends_in_one_line_that_names_all_of_them(
    module: str, name: str, tmp_path: Path
) -> None:
    (file := tmp_path / "server-key").write_text("c2VjcmV0IG9mIHRoZSB0ZXN0")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKLISTS_", "KUBE"))}
    environment = {
        **plain,
        "CHECKLISTS_NAMESPACE": "checklists",
        "CHECKLISTS_SERVER_KEY_FILE": str(file),
        "CHECKLISTS_ALLOW_INSECURE_TARGETS": "perhaps",
        "CHECKLISTS_LOG_LEVLE": "INFO",
    }
    command = [sys.executable, "-m", module]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert file.read_text() not in answer.stderr
    told = answer.stderr.removeprefix(f"{name}: ").removesuffix("\n").split("; ")
    # Their words: tests/unit/test_settings.py.
    assert sorted(each.split()[0].strip(":") for each in told) == [
        "CHECKLISTS_ALLOW_INSECURE_TARGETS",
        "CHECKLISTS_LOG_LEVLE",
        "CHECKLISTS_SEALING_KEYS",
        "CHECKLISTS_SERVER_KEY_FILE",
    ]


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

        async def until_told(event: str, times: int) -> None:
            def told() -> bool:
                events = [json.loads(line)["event"] for line in program.child.output().splitlines()]
                return sum(each.startswith(event) for each in events) == times

            await eventually(told)

        organization = object_id("org", api.organization)
        before = await dispatch("one")
        assert before["link"].endswith("#" + executor_token(ServerKeys(server_key), organization, before["run_id"]))

        # A file that cannot be used is told, and changes nothing.
        server_file.write_text("not a key at all")
        await until_told("settings.file_refused", 1)
        assert await status_with(before["link"]) == 200
        ready = (await http.get("/readyz")).json()
        assert ready["notes"] == ["CHECKLISTS_SERVER_KEY_FILE: the file cannot be used; its value from before is"]
        metrics = (await http.get("/metrics")).text
        assert 'checklists_setting_stale{setting="CHECKLISTS_SERVER_KEY_FILE"} 1.0' in metrics

        server_file.write_text(f"{_b64(NEW)},{_b64(server_key)}")
        sealing_file.write_text(f"k2:{_b64(NEW)},{sealing_keys}")
        await until_told("settings.file_taken", 2)
        assert await status_with(before["link"]) == 200
        after = await dispatch("two")
        assert after["link"].endswith("#" + executor_token(ServerKeys(NEW), organization, after["run_id"]))
        assert await status_with(after["link"]) == 200
        # The same request again, from before the change: the same run, now with a link of the new key.
        again = await dispatch("one")
        assert again["run_id"] == before["run_id"]
        assert again["link"].endswith("#" + executor_token(ServerKeys(NEW), organization, before["run_id"]))
        sealed = (await api.kube.get(RUN, after["run_id"], api.namespace))["spec"]["webhook"]["sealedSecret"]
        assert sealing_key_of(sealed) == "k2"
        ring = KeyRing.parse(f"k2:{_b64(NEW)}")
        assert ring.open(sealed, owner=run_owner(api.namespace, after["run_id"])) == WEBHOOK_SECRET

        # The old key goes: so do its links.
        server_file.write_text(_b64(NEW))
        await until_told("settings.file_taken", 3)
        assert await status_with(before["link"]) == 401
        assert await status_with(after["link"]) == 200
        assert program.child.running
        for secret in ("not a key at all", _b64(NEW), _b64(server_key)):
            assert secret not in program.child.output()
