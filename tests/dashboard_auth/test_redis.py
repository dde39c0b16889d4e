"""Sessions in a real Redis: what it holds, and what happens while it is away."""

import importlib.util
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from checklist_api.dashboard import sign_in_settings
from checklist_api.settings import InvalidSetting, Settings
from checklist_crds.kube.kinds import DASHBOARD_SESSION
from checklist_dev.redis_server import PASSWORD, RedisServer

from .conftest import PASSWORD as OWN_PASSWORD
from .conftest import MakeLink, StartApi, with_password
from .person import PersonAt

EMAIL = "grace@example.com"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """One of the test's own, which it may stop."""
    server = RedisServer(tmp_path).start()
    yield server
    server.stop()


@pytest.fixture
async def reader(server: RedisServer) -> AsyncIterator[Any]:
    client: Any = Redis(port=server.port, password=PASSWORD, decode_responses=True)
    yield client
    await client.aclose()


async def test_redis_holds_no_name_no_address_and_nothing_that_signs_in(
    start_api: StartApi, make_link: MakeLink, server: RedisServer, reader: Any
) -> None:
    api = await start_api(**server.settings())
    person = await with_password(api, make_link, EMAIL)
    kept = {key: await reader.hgetall(key) async for key in reader.scan_iter("*:session:*")}
    people = [await reader.zrange(key, 0, -1) async for key in reader.scan_iter("*:person:*")]
    assert len(kept) == len(people) == 1
    for word in (str(person.secret), EMAIL, "Ada Example", "local"):
        assert word not in str(kept) + str(people)
    [(key, fields)] = kept.items()
    assert 0 < await reader.ttl(key) <= 3600
    assert fields["data"].startswith("k1:")
    assert (await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0] == []


async def test_whoever_writes_to_redis_makes_no_session(
    start_api: StartApi, make_link: MakeLink, server: RedisServer, reader: Any
) -> None:
    from checklist_crds.secret_digest import digest

    api = await start_api(**server.settings())
    await with_password(api, make_link, EMAIL)
    [key] = [key async for key in reader.scan_iter("*:session:*")]
    own = digest("x" * 43)
    for data in (await reader.hget(key, "data"), "{}", "", "k1:" + "A" * 60):
        await reader.hset(key.rpartition(":")[0] + ":" + own, mapping={"data": data, "seen": "9999999999"})
        forged = PersonAt(api.anonymous, cookies={"__Host-checklists-session": "x" * 43})
        assert not await forged.is_signed_in()


async def test_a_session_that_was_ended_does_not_come_back_by_use(
    start_api: StartApi, make_link: MakeLink, server: RedisServer, reader: Any
) -> None:
    from checklist_crds.times import utc_now

    api = await start_api(**server.settings())
    person = await with_password(api, make_link, EMAIL)
    sessions: Any = api.services.sessions
    from checklist_crds.secret_digest import digest

    session = await sessions.get(digest(str(person.secret)), utc_now())
    await person.delete("session")
    await sessions._touch(session, utc_now())
    assert [key async for key in reader.scan_iter("*:session:*")] == []


async def test_while_redis_is_away_nobody_signs_in_no_link_is_lost_and_all_else_lives(
    start_api: StartApi, make_link: MakeLink, server: RedisServer
) -> None:
    api = await start_api(**server.settings())
    person = await with_password(api, make_link, EMAIL)
    token = await make_link(EMAIL)
    server.stop()
    newcomer = PersonAt(api.anonymous)
    for path, body in (
        ("sign-in/link", {"secret": token}),
        ("sign-in/password", {"email": EMAIL, "password": OWN_PASSWORD}),
    ):
        response = await newcomer.post(path, body)
        assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
        assert "Redis" in response.json()["message"]
        assert int(response.headers["Retry-After"]) >= 1
    assert (await person.get("session")).status_code == 503
    assert (await api.http.get("/v1/templates")).status_code == 200
    assert (await api.anonymous.get("/readyz")).status_code == 200
    assert (await newcomer.get("sign-in")).status_code == 200
    server.start()
    assert (await newcomer.post("sign-in/link", {"secret": token})).status_code == 200
    assert (await person.get("session")).status_code == 401  # this Redis forgets when it ends


def _settings(**environment: str) -> Settings:
    key = "A" * 43 + "="
    good = {"CHECKLISTS_NAMESPACE": "n", "CHECKLISTS_SERVER_KEY": key, "CHECKLISTS_SEALING_KEYS": f"k1:{key}"}
    return Settings.from_environment({**good, **environment})


def test_without_the_package_a_start_with_redis_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(sign_in_settings, "find_spec", lambda name: None if name == "redis" else real(name))
    with pytest.raises(InvalidSetting, match=r"CHECKLISTS_REDIS_URL.*pip install 'checklist-dispatch\[redis\]'"):
        _settings(CHECKLISTS_REDIS_URL="redis://127.0.0.1/0")
    assert _settings().sign_in.redis is None


@pytest.mark.parametrize(
    "environment",
    [
        {"CHECKLISTS_REDIS_URL": "http://127.0.0.1"},
        {"CHECKLISTS_REDIS_URL": "redis://"},
        {"CHECKLISTS_REDIS_URL": "redis://h", "CHECKLISTS_REDIS_PASSWORD_FILE": "/nowhere"},
        {"CHECKLISTS_OIDC_ISSUER": "http://login.example", "CHECKLISTS_OIDC_CLIENT_ID": "c"},
        {"CHECKLISTS_OIDC_ISSUER": "https://login.example"},
        {"CHECKLISTS_OIDC_ISSUER": "https://login.example?x=1", "CHECKLISTS_OIDC_CLIENT_ID": "c"},
        {
            "CHECKLISTS_OIDC_ISSUER": "https://login.example",
            "CHECKLISTS_OIDC_CLIENT_ID": "c",
            "CHECKLISTS_OIDC_SCOPES": "email",
        },
        {"CHECKLISTS_LOCAL_ACCOUNTS": "0"},
        {"CHECKLISTS_LOCAL_ACCOUNTS": "perhaps"},
        {"CHECKLISTS_SIGN_IN_RATE_LIMIT": "often"},
    ],
)
def test_settings_that_cannot_be_are_refused_in_one_line(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting) as refused:
        _settings(**environment)
    assert "\n" not in str(refused.value)


def test_secrets_come_from_files_and_appear_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret/of:all\n")
    settings = _settings(
        CHECKLISTS_REDIS_URL="rediss://user@redis.example:6380/1",
        CHECKLISTS_REDIS_PASSWORD_FILE=str(secret),
        CHECKLISTS_OIDC_ISSUER="https://login.example",
        CHECKLISTS_OIDC_CLIENT_ID="c",
        CHECKLISTS_OIDC_CLIENT_SECRET_FILE=str(secret),
    )
    redis = settings.sign_in.redis
    assert redis is not None
    assert (redis.address, redis.username) == ("rediss://user@redis.example:6380/1", "user")
    assert redis.current_password() == "s3cret/of:all"
    assert settings.sign_in.oidc is not None
    assert settings.sign_in.oidc.client_secret.current == "s3cret/of:all"
    assert "s3cret" not in repr(settings)
    assert not settings.sign_in.local_accounts
