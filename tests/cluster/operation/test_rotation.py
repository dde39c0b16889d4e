"""An operator that runs: its keys are replaced under its feet, as the kubelet replaces the files of a Secret.

What a changed key is used for from then on is tests/unit/core/test_settings_rotation.py.
"""

import base64
import os
from pathlib import Path

from tests.cluster.operator_lab import SEALING_KEYS, WEBHOOK_SECRET, Lab, Receiver, StartOperator
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.resources.kinds import RUN
from checklist_crds.secrets.sealing import KeyRing

NEW = base64.b64encode(os.urandom(32)).decode()


async def test_keys_that_change_are_used_from_then_on(
    lab: Lab, receiver: Receiver, start_operator: StartOperator, tmp_path: Path
) -> None:
    files = MountedSecret(tmp_path / "mounted", **{"sealing-keys": SEALING_KEYS})
    operator = await start_operator(
        may_log_errors=True,  # a file that cannot be used is one
        CHECKLISTS_SEALING_KEYS="",
        CHECKLISTS_SEALING_KEYS_FILE=str(files.path("sealing-keys")),
    )
    pid = operator.child.pid

    async def until_logged(event: str, count: int) -> None:
        await eventually(lambda: operator.output.count(event) >= count)

    await lab.cancelled(receiver.url)
    lab.key_ring = KeyRing.parse(f"k2:{NEW}")
    second = await lab.dispatch(receiver.url)
    await lab.cancel(second)
    held = await lab.until_condition(RUN, second, "Delivering", reason="SecretUnreadable")
    assert "k2" in held["message"]
    files.change(**{"sealing-keys": f"k2:{NEW},{SEALING_KEYS}"})
    (record,) = (await lab.until_settled(second)).status.deliveries
    assert record.attempts == 1, "waiting for a key is no attempt"
    await until_logged("settings.file_taken", 1)

    # The old one goes: what it sealed opens no more, and the file that says nonsense changes nothing.
    files.change(**{"sealing-keys": "no keys at all"})
    await until_logged("settings.file_refused", 1)
    assert await operator.metric("checklists_setting_stale") == 1
    await lab.cancelled(receiver.url)
    files.change(**{"sealing-keys": f"k2:{NEW}"})
    await until_logged("settings.file_taken", 2)
    assert await operator.metric("checklists_setting_stale") == 0
    assert (operator.child.running, operator.child.pid) == (True, pid), "nothing of this takes a restart"
    for secret in (NEW, SEALING_KEYS, WEBHOOK_SECRET):
        assert secret not in operator.output
