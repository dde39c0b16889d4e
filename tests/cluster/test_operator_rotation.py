"""An operator that runs: its keys and the authorities that it trusts are replaced under its feet, as the kubelet
replaces the files of a Secret.
"""

import asyncio
import base64
import json
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
    condition,
)
from tests.cluster.photo_lab import PhotoLab
from tests.delivery.authority import Authority
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.kube.kinds import RUN
from checklist_crds.photo_store import PhotoStore
from checklist_crds.photo_urls import SignedUrls
from checklist_crds.sealing import KeyRing, ServerKeys
from checklist_crds.times import utc_now
from checklist_dev.controlplane import ControlPlane

WITHIN_S = 60.0
NEW_KEY = os.urandom(32)
NEW = base64.b64encode(NEW_KEY).decode()
OLD = base64.b64encode(SERVER_KEY).decode()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """The one that holds at first."""
    (folder := tmp_path / "authority").mkdir()
    return Authority.make(folder)


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> MountedSecret:
    names = {"server-key": OLD, "sealing-keys": SEALING_KEYS, "ca.crt": authority.pem}
    return MountedSecret(tmp_path / "mounted", **names)


@pytest_asyncio.fixture
async def operator(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, files: MountedSecret
) -> AsyncIterator[OperatorProcess]:
    made = OperatorProcess(
        tmp_path,
        control_plane.kubeconfig,
        namespace,
        CHECKLISTS_SERVER_KEY="",
        CHECKLISTS_SERVER_KEY_FILE=str(files.path("server-key")),
        CHECKLISTS_SEALING_KEYS="",
        CHECKLISTS_SEALING_KEYS_FILE=str(files.path("sealing-keys")),
        CHECKLISTS_CA_FILE=str(files.path("ca.crt")),
        CHECKLISTS_RETRY_GAPS="1,1,2,120",
    )
    await made.start()
    pid = made.child.pid
    yield made
    assert made.child.running
    assert made.child.pid == pid, "nothing of this takes a restart"
    await made.stop()


async def until_told(operator: OperatorProcess, event: str, count: int) -> None:
    await eventually(lambda: operator.output.count(event) >= count, within_s=WITHIN_S)


async def test_what_is_sealed_under_a_new_key_waits_for_it_and_is_delivered(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, files: MountedSecret
) -> None:
    first = await lab.dispatch(receiver.url)
    await lab.cancel(first)
    await eventually(lambda: len(receiver.events(first)) == 1, within_s=WITHIN_S)

    lab.key_ring = KeyRing.parse(f"k2:{NEW}")
    second = await lab.dispatch(receiver.url)
    await lab.cancel(second)

    async def is_held() -> bool:
        told = condition(await lab.client.get(RUN, second, lab.namespace), "Delivering")
        return told is not None and told["reason"] == "SecretUnreadable"

    await eventually(is_held, within_s=WITHIN_S)
    files.change(**{"sealing-keys": f"k2:{NEW},{SEALING_KEYS}"})
    await eventually(lambda: len(receiver.events(second)) == 1, within_s=WITHIN_S)
    (record,) = (await lab.until_settled(second, within_s=WITHIN_S)).status.deliveries
    assert record.attempts == 1, "waiting for a key is no attempt"
    await until_told(operator, "settings.file_taken", 1)

    # The old one goes: what it sealed opens no more, and the file that says nonsense changes nothing.
    files.change(**{"sealing-keys": "no keys at all"})
    await until_told(operator, "settings.file_refused", 1)
    assert await operator.metric("checklists_setting_stale") == 1
    third = await lab.dispatch(receiver.url)
    await lab.cancel(third)
    await eventually(lambda: len(receiver.events(third)) == 1, within_s=WITHIN_S)
    files.change(**{"sealing-keys": f"k2:{NEW}"})
    await until_told(operator, "settings.file_taken", 2)
    assert await operator.metric("checklists_setting_stale") == 0
    for secret in (NEW, SEALING_KEYS, WEBHOOK_SECRET):
        assert secret not in operator.output


async def test_addresses_of_photos_are_signed_by_the_key_that_is_in_the_file_now(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, files: MountedSecret, tmp_path: Path
) -> None:
    photos = PhotoLab(lab, PhotoStore.open((tmp_path / "photos").as_uri()), tmp_path)
    await photos.prepare()

    async def address() -> str:
        run = await lab.dispatch(receiver.url, events=["step.completed"])
        await photos.add(run)
        await eventually(lambda: len(receiver.events(run)) == 1, within_s=WITHIN_S)
        return str(receiver.events(run)[0]["data"]["photos"][0]["url"])

    def is_signed_by(key: bytes, url: str) -> bool:
        path, query = urlsplit(url).path, parse_qs(urlsplit(url).query)
        run, photo = path.removeprefix("/v1/photos/").split("/")
        urls = SignedUrls(ServerKeys(key), BASE_URL, utc_now)
        return urls.seconds_left(run, photo, query["e"][0], query["s"][0], thumbnail=False) is not None

    before = await address()
    assert (is_signed_by(SERVER_KEY, before), is_signed_by(NEW_KEY, before)) == (True, False)
    files.change(**{"server-key": f"{NEW},{OLD}"})
    await until_told(operator, "settings.file_taken", 1)
    after = await address()
    assert (is_signed_by(SERVER_KEY, after), is_signed_by(NEW_KEY, after)) == (False, True)


async def test_a_receiver_that_changes_its_authority_is_trusted_again_when_the_file_says_so(
    lab: Lab, operator: OperatorProcess, files: MountedSecret, authority: Authority, tmp_path: Path
) -> None:
    (folder := tmp_path / "another").mkdir()
    another = Authority.make(folder)
    receiver = TlsReceiver()
    await receiver.start(authority)
    try:
        first = await lab.dispatch(receiver.url)
        await lab.cancel(first)
        await eventually(lambda: first in receiver.runs, within_s=WITHIN_S)
        await receiver.stop()
        await receiver.start(another)
        second = await lab.dispatch(receiver.url)
        await lab.cancel(second)

        async def is_refused() -> bool:
            records = (await lab.run(second)).status.deliveries
            deliveries = await lab.deliveries(second)
            return bool(records and deliveries and deliveries[0]["status"]["attempts"])

        await eventually(is_refused, within_s=WITHIN_S)
        assert second not in receiver.runs
        files.change(**{"ca.crt": another.pem})
        await eventually(lambda: second in receiver.runs, within_s=WITHIN_S)
    finally:
        await receiver.stop()


class TlsReceiver:
    """At one port of this machine, with a certificate of whatever authority it is started with."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.port = 0
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/hook"

    async def start(self, authority: Authority) -> None:
        context = authority.server_context(host="127.0.0.1")
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            self.runs.append(json.loads(await reader.readexactly(length))["run_id"])
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
