"""An API that runs: what others gave it (passwords, keys, authorities) is replaced under its feet, as the kubelet
replaces the files of a Secret. The keys of the installation itself are in `test_settings_process.py`.
"""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from aiohttp import web
from tests.dashboard_auth.hostile_provider import CLIENT_ID, HostileProvider, hostile_provider
from tests.dashboard_auth.person import PersonAt
from tests.dashboard_auth.real_provider import SERVICE
from tests.delivery.authority import Authority
from tests.generation.model_server import TEMPLATE, model_server, says
from tests.mounted_secret import MountedSecret
from tests.replicas.api_processes import ApiProcess, api_processes
from tests.waiting import eventually

from checklist_dev.controlplane import ControlPlane
from checklist_dev.redis_server import RedisServer

from .conftest import Api, http_client

WITHIN_S = 60.0
HOST = "127.0.0.1"
OLD, NEW = "the secret of yesterday: / & %", "the secret of today: + = ?"
SHARED: dict[str, Any] = {"status": "ok", "notes": []}
ALONE = "rate limits are counted by each replica on its own: Redis does not answer"

Running = Callable[..., Any]


@pytest.fixture
def authorities(tmp_path: Path) -> tuple[Authority, Authority]:
    """Yesterday's and today's."""
    made = []
    for name in ("yesterday", "today"):
        (folder := tmp_path / name).mkdir()
        made.append(Authority.make(folder))
    return made[0], made[1]


@pytest.fixture
def files(tmp_path: Path, authorities: tuple[Authority, Authority]) -> MountedSecret:
    return MountedSecret(tmp_path / "mounted", **{"secret": f"{OLD}\n", "ca.crt": authorities[0].pem})


@pytest.fixture
def running(control_plane: ControlPlane, api: Api, tmp_path: Path) -> Running:
    """`async with running(**settings) as program`: the API as a process, on the account of `api`; it is not started
    anew, and does not log what is in its files."""

    @asynccontextmanager
    async def run(**settings: str) -> AsyncIterator[ApiProcess]:
        settings = {"CHECKLISTS_BASE_URL": SERVICE, **settings}
        async with api_processes(1, tmp_path, control_plane.kubeconfig, api.namespace, **settings) as [program]:
            pid = program.child.pid
            yield program
            assert program.child.running
            assert program.child.pid == pid
            assert not any(secret in program.child.output() for secret in (OLD, NEW))

    return run


async def until_taken(program: ApiProcess, count: int) -> None:
    async def is_taken() -> bool:
        return program.child.output().count("settings.file_taken") >= count

    await eventually(is_taken)


async def readiness(program: ApiProcess) -> Any:
    """After a request that is counted."""
    async with http_client(program.url) as http:
        assert (await http.get("/v1/runs/r-1/preview")).status_code in (404, 429)
        told = (await http.get("/readyz")).json()
        return {name: told[name] for name in ("status", "notes")}


async def test_redis_changes_its_password_and_its_authority(
    running: Running, files: MountedSecret, authorities: tuple[Authority, Authority], tmp_path: Path
) -> None:
    yesterday, today = authorities
    (folder := tmp_path / "redis").mkdir()
    with RedisServer(folder, password=OLD, tls=yesterday.chain_file(host=HOST)) as server:
        settings = {
            "CHECKLISTS_REDIS_URL": f"rediss://{HOST}:{server.port}/0",
            "CHECKLISTS_REDIS_PASSWORD_FILE": str(files.path("secret")),
            "CHECKLISTS_REDIS_CA_FILE": str(files.path("ca.crt")),
        }
        async with running(**settings) as program:

            async def says(what: Any) -> None:
                async def does() -> bool:
                    return bool(await readiness(program) == what)

                await eventually(does)

            await says(SHARED)
            server.stop()
            server.password = NEW
            server.start()
            await says({"status": "ok", "notes": [ALONE]})
            files.change(secret=NEW)
            await says(SHARED)

            server.stop()
            server.tls = today.chain_file(host=HOST)
            server.start()
            await says({"status": "ok", "notes": [ALONE]})
            files.change(**{"ca.crt": today.pem})
            await says(SHARED)
            await until_taken(program, 2)


async def test_a_provider_changes_the_client_s_secret_and_its_authority(
    running: Running, files: MountedSecret, authorities: tuple[Authority, Authority]
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
        async with running(**settings) as program, http_client(program.url) as http:

            async def signs_in() -> bool:
                person = PersonAt(http)
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
            await until_taken(program, 2)
            await eventually(signs_in)
            files.change(**{"ca.crt": yesterday.pem})
            await until_taken(program, 3)
            assert not await signs_in(), "the authority is that of the file and no other"


def _token(provider: HostileProvider, request: web.Request, secret: str) -> web.Response:
    kind, _, sent = request.headers.get("Authorization", "").partition(" ")
    given = [unquote_plus(part) for part in base64.b64decode(sent).decode().split(":")]
    if (kind, given) != ("Basic", [CLIENT_ID, secret]):
        return web.json_response({"error": "invalid_client"}, status=401)
    token = provider.signed(provider.claims())
    return web.json_response({"access_token": "at", "token_type": "Bearer", "id_token": token})


async def test_a_model_changes_its_key_and_its_authority(
    running: Running, api: Api, files: MountedSecret, authorities: tuple[Authority, Authority]
) -> None:
    yesterday, today = authorities
    old, new = "sk-of-yesterday-0123456789", "sk-of-today-0123456789"
    files.change(secret=old)
    tls = yesterday.server_context(host=HOST)
    async with model_server(says(TEMPLATE), tls=tls) as server:
        settings = {
            "CHECKLISTS_MODEL_URL": f"https://{HOST}:{server.port}/v1",
            "CHECKLISTS_MODEL_NAME": "m",
            "CHECKLISTS_MODEL_KEY_FILE": str(files.path("secret")),
            "CHECKLISTS_MODEL_CA_FILE": str(files.path("ca.crt")),
        }
        async with running(**settings) as program, http_client(program.url, api.account.key) as http:

            async def made_by() -> str:
                answer = await http.post("/v1/templates/generate", json={"prompt": "Cold room: temperature, seal"})
                assert answer.status_code == 200, answer.text
                return str(answer.headers["X-Generated-By"])

            assert await made_by() == "model"
            tls.load_cert_chain(today.chain_file(host=HOST))
            assert (await made_by()).startswith("composer; reason="), "its certificate is of another authority"
            files.change(secret=new, **{"ca.crt": today.pem})
            await until_taken(program, 2)
            assert await made_by() == "model"
            sent = [asked.headers["authorization"] for asked in server.asked]
            assert sent == [f"Bearer {old}", f"Bearer {new}"]
            assert old not in program.child.output() + new
