"""An operator that runs: its keys are replaced under its feet, as the kubelet replaces the files of a Secret."""

import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from tests.cluster.operator_lab import (
    BASE_URL,
    SEALING_KEYS,
    SERVER_KEY,
    WEBHOOK_SECRET,
    Lab,
    OperatorProcess,
    Receiver,
    StartOperator,
)
from tests.cluster.photo_lab import PhotoLab
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.kube.kinds import RUN
from checklist_crds.photo_store import PhotoStore
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.sealing import KeyRing, ServerKeys
from checklist_crds.times import utc_now

NEW_KEY = os.urandom(32)
NEW = base64.b64encode(NEW_KEY).decode()
OLD = base64.b64encode(SERVER_KEY).decode()


@pytest.fixture
def files(tmp_path: Path) -> MountedSecret:
    return MountedSecret(tmp_path / "mounted", **{"server-key": OLD, "sealing-keys": SEALING_KEYS})


@pytest_asyncio.fixture
async def operator(start_operator: StartOperator, files: MountedSecret) -> AsyncIterator[OperatorProcess]:
    made = await start_operator(
        may_log_errors=True,  # a file that cannot be used is one
        CHECKLISTS_SERVER_KEY="",
        CHECKLISTS_SERVER_KEY_FILE=str(files.path("server-key")),
        CHECKLISTS_SEALING_KEYS="",
        CHECKLISTS_SEALING_KEYS_FILE=str(files.path("sealing-keys")),
        CHECKLISTS_RETRY_GAPS="1,1,2,120",
    )
    pid = made.child.pid
    yield made
    assert made.child.running
    assert made.child.pid == pid, "nothing of this takes a restart"


async def until_logged(operator: OperatorProcess, event: str, count: int) -> None:
    await eventually(lambda: operator.output.count(event) >= count)


async def test_keys_that_change_are_used_from_then_on(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, files: MountedSecret, tmp_path: Path
) -> None:
    await lab.cancelled(receiver.url)
    lab.key_ring = KeyRing.parse(f"k2:{NEW}")
    second = await lab.dispatch(receiver.url)
    await lab.cancel(second)
    held = await lab.until_condition(RUN, second, "Delivering", reason="SecretUnreadable")
    assert "k2" in held["message"]
    files.change(**{"sealing-keys": f"k2:{NEW},{SEALING_KEYS}"})
    (record,) = (await lab.until_settled(second)).status.deliveries
    assert record.attempts == 1, "waiting for a key is no attempt"
    await until_logged(operator, "settings.file_taken", 1)

    # The old one goes: what it sealed opens no more, and the file that says nonsense changes nothing.
    files.change(**{"sealing-keys": "no keys at all"})
    await until_logged(operator, "settings.file_refused", 1)
    assert await operator.metric("checklists_setting_stale") == 1
    await lab.cancelled(receiver.url)
    files.change(**{"sealing-keys": f"k2:{NEW}"})
    await until_logged(operator, "settings.file_taken", 2)
    assert await operator.metric("checklists_setting_stale") == 0

    photos = PhotoLab(lab, PhotoStore.open((tmp_path / "photos").as_uri()), tmp_path)
    await photos.prepare()

    async def signed_by() -> list[bytes]:
        """The keys whose signature the address of a photo has now."""
        run = await lab.dispatch(receiver.url, events=["step.completed"])
        await photos.add(run)
        (event,) = await eventually(lambda: receiver.events(run))
        url = urlsplit(event["data"]["photos"][0]["url"])
        (at,), (signature,) = (parse_qs(url.query)[name] for name in "es")
        _, photo = url.path.removeprefix("/v1/photos/").split("/")
        urls = {key: SignedUrls(ServerKeys(key), BASE_URL, utc_now) for key in (SERVER_KEY, NEW_KEY)}
        return [key for key, of in urls.items() if of.seconds_left(run, photo, at, signature, thumbnail=False)]

    assert await signed_by() == [SERVER_KEY]
    files.change(**{"server-key": f"{NEW},{OLD}"})
    await until_logged(operator, "settings.file_taken", 3)
    assert await signed_by() == [NEW_KEY]
    for secret in (NEW, SEALING_KEYS, WEBHOOK_SECRET):
        assert secret not in operator.output
