"""What a programmer's mistake would show: no repr, no error and no traceback holds a secret."""

import base64
import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.secrets.needles import Needle

from checklist_api.runs.models import DispatchRequest
from checklist_api.settings.service import Settings as ApiSettings
from checklist_cli.receiver.verification import Expectation
from checklist_crds.resources.run import Run
from checklist_crds.secrets.sealing import KeyRing
from checklist_operator.settings import Settings as OperatorSettings
from checklist_operator.transport import signing
from checklist_operator.transport.addresses import AddressPolicy
from checklist_operator.transport.sender import Sender

SECRET = "a-secret-of-a-caller-46b1f2"
KEY = bytes(range(100, 132))
NEEDLES = (Needle.text("secret", SECRET), Needle("key", KEY))
ENVIRONMENT = {
    "CHECKLISTS_NAMESPACE": "checklists",
    "CHECKLISTS_SEALING_KEYS": "k1:" + base64.b64encode(KEY).decode(),
    "CHECKLISTS_SERVER_KEY": base64.b64encode(KEY).decode(),
}
DISPATCH = {
    "template_id": "t-5d6d8f6e-6f0e-4f58-9a0c-3c1c9a9f2f10",
    "webhook": {"url": "https://hooks.example.com/", "secret": SECRET, "events": ["*"]},
}


def found(text: str) -> list[bytes]:
    return [place for needle in NEEDLES for place in needle.found_in(text.encode())]


def test_an_object_that_holds_a_secret_does_not_show_it() -> None:
    for held in (
        DispatchRequest.read(DISPATCH, allow_insecure=False),
        ApiSettings.from_environment(ENVIRONMENT),
        OperatorSettings.from_environment(ENVIRONMENT),
        KeyRing({"k1": KEY}),
        Expectation("https://hooks.example.com/", SECRET.encode()),
    ):
        assert found(repr(held) + str(held) + f"{held}") == [], type(held)


def sign(**changes: Any) -> object:
    arguments = {"secret": SECRET.encode(), "key_id": "r-1", "created": datetime.now(UTC), "nonce": "n"} | changes
    return signing.sign("https://hooks.example.com/", b"{}", **arguments)


def parse_run(**webhook: Any) -> object:
    metadata = {"name": "r-1", "creationTimestamp": "2026-11-21T13:50:00Z"}
    target = {"url": "https://hooks.example.com/", "events": ["*"]}
    return Run.parse({"metadata": metadata, "spec": {"webhook": target | webhook}})


@pytest.mark.parametrize(
    "action",
    [
        lambda: sign(key_id="r-\n"),
        lambda: sign(nonce="☃"),
        lambda: sign(key_id=1),
        lambda: sign(created="now"),
        lambda: sign(secret=SECRET),  # text instead of bytes
        lambda: KeyRing({"k1": KEY}).open("k1:" + "A" * 60, owner=SECRET),
        lambda: KeyRing({"k1": KEY}).open(SECRET, owner="r-1"),
        lambda: KeyRing({"k1": KEY}).open(f"{SECRET}:x", owner="r-1"),
        lambda: KeyRing({"k 1": KEY}),
        lambda: KeyRing({"k1": KEY[1:]}),
        lambda: KeyRing.parse(base64.b64encode(KEY).decode()),
        lambda: KeyRing.parse("k1:" + base64.b64encode(KEY).decode() + "é"),
        lambda: ApiSettings.from_environment(ENVIRONMENT | {"CHECKLISTS_SERVER_KEY": KEY.hex()}),
        lambda: OperatorSettings.from_environment(ENVIRONMENT | {"CHECKLISTS_SEALING_KEYS": KEY.hex()}),
        lambda: DispatchRequest.read({"webhook": DISPATCH["webhook"]}, allow_insecure=False),
        lambda: DispatchRequest.read(
            DISPATCH | {"webhook": {"url": f"https://{SECRET}@x/", "secret": SECRET * 20, "events": []}},
            allow_insecure=False,
        ),
        lambda: parse_run(sealedSecret=SECRET * 200),
        lambda: parse_run(sealedSecret=[SECRET]),
        lambda: parse_run(events=SECRET, secretRef={"name": SECRET + "!"}),
    ],
)  # fmt: skip
def test_no_error_repeats_the_secret_that_it_is_about(action: Callable[[], object]) -> None:
    with pytest.raises(Exception) as raised:
        action()
    assert found("".join(traceback.format_exception(raised.value))) == []


async def test_sender_errors_show_no_secret(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    async with Sender(AddressPolicy(allow_insecure=True)) as sender:
        url = f"http://127.0.0.1:9/?token={SECRET}"
        outcome = await sender.send(url, b"{}", SECRET.encode(), "r-1")
        assert not outcome.ok
        monkeypatch.setattr(signing, "sign", broken)
        with pytest.raises(RuntimeError) as bug:
            await sender.send(url, b"{}", SECRET.encode(), "r-1")
    logging.getLogger("test").error("it failed", exc_info=bug.value)
    assert "a bug" in caplog.text
    assert found(repr(outcome) + caplog.text) == []
