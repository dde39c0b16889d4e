"""An API that runs: what others gave it (passwords, keys, authorities) is replaced under its feet, as the kubelet
replaces the files of a Secret. The keys of the installation itself are in `test_process.py`.
"""

import base64
import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from aiohttp import web
from tests.contract.conftest import Api, StartApi, until
from tests.dashboard_auth.hostile_provider import CLIENT_ID, HostileProvider, hostile_provider
from tests.dashboard_auth.person import PersonAt
from tests.dashboard_auth.real_provider import SERVICE
from tests.delivery.authority import Authority
from tests.generation.model_server import TEMPLATE, model_server, says
from tests.mounted_secret import MountedSecret
from tests.waiting import eventually

from checklist_crds.settings.rotation import Rotation
from checklist_dev.programs.redis_server import RedisServer

HOST = "127.0.0.1"
OLD, NEW = "the secret of yesterday: / & %", "the secret of today: + = ?"
OLD_KEY, NEW_KEY = "sk-of-yesterday-0123456789", "sk-of-today-0123456789"
ALONE = "rate limits are counted by each replica on its own: Redis does not answer"


@pytest.fixture
def authorities(tmp_path: Path) -> tuple[Authority, Authority]:
    def made(name: str) -> Authority:
        (folder := tmp_path / name).mkdir()
        return Authority.make(folder)

    return made("yesterday"), made("today")


@pytest.fixture
def files(tmp_path: Path, authorities: tuple[Authority, Authority]) -> MountedSecret:
    return MountedSecret(tmp_path / "mounted", **{"secret": f"{OLD}\n", "ca.crt": authorities[0].pem})


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(Rotation.run, "__defaults__", (0.1,))  # seconds between two looks at the files
    caplog.set_level(logging.INFO)
    return caplog


async def until_taken(logged: pytest.LogCaptureFixture, count: int) -> None:
    await eventually(lambda: logged.text.count("settings.file_taken") >= count)
    assert not any(secret in logged.text for secret in (OLD, NEW, OLD_KEY, NEW_KEY))


async def notes(api: Api) -> Any:
    assert (await api.anonymous.get("/v1/runs/r-1/preview")).status_code in (404, 429)
    ready = (await api.anonymous.get("/readyz")).json()
    assert ready["status"] == "ok"
    return ready["notes"]


async def test_redis_changes_its_password_and_its_authority(
    start_api: StartApi, files: MountedSecret, authorities: Any, logged: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    yesterday, today = authorities
    (folder := tmp_path / "redis").mkdir()
    with RedisServer(folder, password=OLD, tls=yesterday.chain_file(host=HOST)) as server:
        settings = {
            "CHECKLISTS_REDIS_URL": f"rediss://{HOST}:{server.port}/0",
            "CHECKLISTS_REDIS_PASSWORD_FILE": str(files.path("secret")),
            "CHECKLISTS_REDIS_CA_FILE": str(files.path("ca.crt")),
            "CHECKLISTS_ADDRESS_RATE_LIMIT": "100/s burst 200",
        }
        api = await start_api(**settings)

        async def say(what: list[str]) -> None:
            await until(lambda: notes(api), lambda found: found == what)

        await say([])
        for attribute, value, file in (
            ("password", NEW, {"secret": NEW}),
            ("tls", today.chain_file(host=HOST), {"ca.crt": today.pem}),
        ):
            server.stop()
            setattr(server, attribute, value)
            server.start()
            await say([ALONE])
            files.change(**file)
            await say([])
        await until_taken(logged, 2)


async def test_a_provider_changes_the_client_s_secret_and_its_authority(
    start_api: StartApi, files: MountedSecret, authorities: Any, logged: pytest.LogCaptureFixture
) -> None:
    yesterday, today = authorities
    tls = yesterday.server_context(host=HOST)
    async with hostile_provider(tls) as provider:
        provider.answers["/token"] = lambda request: _token(provider, request, wanted)
        settings = provider.settings | {
            "CHECKLISTS_OIDC_CLIENT_SECRET_FILE": str(files.path("secret")),
            "CHECKLISTS_OIDC_CA_FILE": str(files.path("ca.crt")),
            "CHECKLISTS_SIGN_IN_RATE_LIMIT": "off",
        }
        api = await start_api(CHECKLISTS_BASE_URL=SERVICE, **settings)

        async def signs_in() -> bool:
            person = PersonAt(api.anonymous)
            try:
                await provider.sign_in(person)
            except AssertionError:  # it does not get as far as the provider
                return False
            return person.secret is not None

        wanted = OLD
        assert await signs_in()
        wanted = NEW
        assert not await signs_in()
        files.change(secret=NEW)
        await eventually(signs_in)

        tls.load_cert_chain(today.chain_file(host=HOST))
        files.change(**{"ca.crt": today.pem})
        await until_taken(logged, 2)
        await eventually(signs_in)
        files.change(**{"ca.crt": yesterday.pem})
        await until_taken(logged, 3)
        assert not await signs_in(), "the authority is that of the file and no other"


def _token(provider: HostileProvider, request: web.Request, secret: str) -> web.Response:
    sent = request.headers.get("Authorization", "").removeprefix("Basic ")
    if [unquote_plus(part) for part in base64.b64decode(sent).decode().split(":")] != [CLIENT_ID, secret]:
        return web.json_response({"error": "invalid_client"}, status=401)
    token = provider.signed(provider.claims())
    return web.json_response({"access_token": "at", "token_type": "Bearer", "id_token": token})


async def test_a_model_changes_its_key_and_its_authority(
    start_api: StartApi, files: MountedSecret, authorities: Any, logged: pytest.LogCaptureFixture
) -> None:
    yesterday, today = authorities
    files.change(secret=OLD_KEY)
    tls = yesterday.server_context(host=HOST)
    async with model_server(says(TEMPLATE), tls=tls) as server:
        settings = {
            "CHECKLISTS_MODEL_URL": f"https://{HOST}:{server.port}/v1",
            "CHECKLISTS_MODEL_NAME": "m",
            "CHECKLISTS_MODEL_KEY_FILE": str(files.path("secret")),
            "CHECKLISTS_MODEL_CA_FILE": str(files.path("ca.crt")),
        }
        api = await start_api(**settings)

        async def made_by() -> str:
            answer = await api.http.post("/v1/templates/generate", json={"prompt": "Cold room: temperature, seal"})
            assert answer.status_code == 200, answer.text
            return str(answer.headers["X-Generated-By"])

        assert await made_by() == "model"
        tls.load_cert_chain(today.chain_file(host=HOST))
        assert (await made_by()).startswith("composer; reason="), "its certificate is of another authority"
        files.change(secret=NEW_KEY, **{"ca.crt": today.pem})
        await until_taken(logged, 2)
        assert await made_by() == "model"
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {OLD_KEY}", f"Bearer {NEW_KEY}"]
