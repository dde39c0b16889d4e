"""A bug in the middle of a dispatch: the answer and the log say that it failed, and nothing of the caller's secret."""

import logging

import pytest

from checklist_api.logs import JsonLines
from checklist_crds.sealing import KeyRing

from .conftest import WEBHOOK_SECRET, Api


async def test_a_bug_while_a_secret_is_sealed_shows_it_to_nobody(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: KeyRing, plaintext: str, *, owner: str) -> str:
        raise RuntimeError("a bug")

    template = await api.account.create_template()
    monkeypatch.setattr(KeyRing, "seal", broken)
    webhook = {"url": "https://hooks.example.com/?token=in-the-url", "secret": WEBHOOK_SECRET, "events": ["*"]}
    with caplog.at_level(logging.DEBUG):
        answer = await api.http.post("/v1/runs", json={"template_id": template["id"], "webhook": webhook})
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal_error"
    logged = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert "RuntimeError: a bug" in logged
    for secret in (WEBHOOK_SECRET, "in-the-url", api.account.key):
        assert secret not in logged
        assert secret not in answer.text
        assert secret not in str(answer.headers)
