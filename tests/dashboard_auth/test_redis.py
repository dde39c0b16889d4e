"""Sessions in a real Redis: what it holds, and what happens while it is away."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from tests.contract.dashboard_client import watching

from checklist_api.dashboard.access import COOKIE
from checklist_crds.ids import object_id
from checklist_crds.resources.kinds import DASHBOARD_SESSION
from checklist_crds.secrets.digest import digest
from checklist_crds.times import utc_now
from checklist_dev.local.people import Person
from checklist_dev.programs.redis_server import PASSWORD, RedisServer

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


async def test_redis_holds_no_name_and_no_address_and_a_write_to_it_makes_no_session(
    start_api: StartApi, make_link: MakeLink, server: RedisServer, reader: Any
) -> None:
    api = await start_api(**server.settings())
    person = await with_password(api, make_link, EMAIL)
    kept = {key: await reader.hgetall(key) async for key in reader.scan_iter("*:session:*")}
    people = [await reader.zrange(key, 0, -1) async for key in reader.scan_iter("*:person:*")]
    assert len(kept) == len(people) == 1
    for word in (str(person.secret), EMAIL, "Lou Local", "local"):
        assert word not in str(kept) + str(people)
    [(key, fields)] = kept.items()
    assert 0 < await reader.ttl(key) <= 3600
    assert fields["data"].startswith("k1:")
    assert (await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0] == []

    forged = f"{key.rpartition(':')[0]}:{digest('x' * 43)}"
    for data in (fields["data"], "{}", "", "k1:" + "A" * 60):
        await reader.hset(forged, mapping={"data": data, "seen": "9999999999"})
        assert await PersonAt(api.anonymous, cookies={COOKIE: "x" * 43}).is_out()
    # One that was ended does not come back by use.
    sessions: Any = api.services.sessions
    session = await sessions.get(digest(str(person.secret)), utc_now())
    await person.delete("session")
    await sessions._touch(session, utc_now())
    assert [found async for found in reader.scan_iter("*:session:*") if found != forged] == []


async def test_sign_in_while_redis_is_away(start_api: StartApi, make_link: MakeLink, server: RedisServer) -> None:
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


async def test_a_stream_ends_with_its_session_and_with_redis(
    start_api: StartApi, make_link: MakeLink, server: RedisServer, reader: Any
) -> None:
    api = await start_api(**server.settings())

    async def ada() -> Person:
        """Every account has a member with this address, and a sign-in binds it."""
        person = await with_password(api, make_link, "ada@example.com")
        organization = object_id("org", api.organization)
        return Person(organization, api.account.member, "Ada Lovelace", "ada@example.com", "ada", str(person.secret))

    async with watching(api, await ada()) as viewer:
        await viewer.until("reset")
        for _ in range(3):  # looking whether the session is there leaves the stream in peace
            await viewer.all_until("run", await api.account.new_run())
        await reader.flushall()
        assert await viewer.end() == "session"
    again = await ada()
    async with watching(api, again) as viewer:
        await viewer.until("reset")
        server.stop()
        assert await viewer.end() == "unavailable"
    async with watching(api, again) as viewer:
        assert viewer.response.status == 503
