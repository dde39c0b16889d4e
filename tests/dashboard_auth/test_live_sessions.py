"""Streams of changes end with sessions that are kept in Redis, of which no watch tells."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from tests.contract.live_viewer import watching

from checklist_crds.ids import object_id
from checklist_dev.people import Person
from checklist_dev.redis_server import PASSWORD, RedisServer

from .conftest import Api, MakeLink, StartApi, with_password


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path).start()
    yield server
    server.stop()


async def _ada(api: Api, make_link: MakeLink) -> Person:
    """Whoever is invited with this address (every account has her as a member) signs in as her."""
    person = await with_password(api, make_link, "ada@example.com")
    organization = object_id("org", api.organization)
    return Person(organization, api.account.member, "Ada Lovelace", "ada@example.com", "ada", str(person.secret))


async def test_a_session_that_was_ended_by_anybody_ends_its_stream_within_a_second(
    start_api: StartApi, make_link: MakeLink, server: RedisServer
) -> None:
    api = await start_api(**server.settings())
    ada = await _ada(api, make_link)
    redis: Any = Redis(port=server.port, password=PASSWORD, decode_responses=True)
    async with watching(api, ada) as viewer:
        await viewer.until("reset")
        for _ in range(3):  # looking whether the session is there leaves the stream in peace
            run_id = await api.account.new_run()
            await viewer.all_until("run", run_id)
        await redis.flushall()
        assert await viewer.end() == "session"
    await redis.aclose()


async def test_while_nobody_can_tell_who_is_signed_in_nothing_is_told(
    start_api: StartApi, make_link: MakeLink, server: RedisServer
) -> None:
    api = await start_api(**server.settings())
    ada = await _ada(api, make_link)
    async with watching(api, ada) as viewer:
        await viewer.until("reset")
        server.stop()
        assert await viewer.end() == "unavailable"
    async with watching(api, ada) as viewer:
        assert viewer.response.status == 503
