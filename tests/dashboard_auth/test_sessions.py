"""Sessions, wherever they are kept: listed, ended at once, ended by time. In the cluster and in Redis alike."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.waiting import eventually

from checklist_api.dashboard.access import COOKIE
from checklist_api.dashboard.sign_in.flow import MAX_SESSIONS
from checklist_api.settings.sign_in import SignInSettings, keeps_secure_cookies
from checklist_crds.resources.kinds import DASHBOARD_SESSION
from checklist_crds.settings.reading import read_group
from checklist_crds.times import parse_timestamp, utc_now
from checklist_dev.programs.redis_server import RedisServer

from .conftest import PASSWORD, Api, MakeLink, StartApi, with_password
from .person import PersonAt

EMAIL = "grace@example.com"


@pytest.fixture(scope="package")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture(params=["cluster", "redis"])
def store(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings of each place that keeps sessions."""
    if request.param == "cluster":
        return {}
    server: RedisServer = request.getfixturevalue("redis")
    return server.settings()


async def _signed_in(api: Api, agent: str = "Browser/1.0") -> PersonAt:
    person = PersonAt(api.anonymous, agent=agent)
    response = await person.post("sign-in/password", {"email": EMAIL, "password": PASSWORD})
    assert response.status_code == 200, response.text
    await person.session()
    return person


async def test_a_person_sees_their_sessions_and_ends_one(
    start_api: StartApi, make_link: MakeLink, store: dict[str, str]
) -> None:
    api = await start_api(**store)
    phone = await with_password(api, make_link, EMAIL)
    desk = await _signed_in(api, "Desk/2.0 (Linux)")
    listed = (await desk.get("sessions")).json()["sessions"]
    assert [one["current"] for one in listed] == [True, False]
    assert listed[0]["client"].startswith("Desk/2.0")
    assert {"id", "current", "method", "client", "created_at", "last_seen_at", "expires_at"} == set(listed[0])
    other = listed[1]["id"]
    response = await desk.delete(f"sessions/{other}", headers={"X-CSRF-Token": "wrong"})
    assert (response.status_code, response.json()["error"]) == (403, "request_forged")
    assert (await desk.delete(f"sessions/{other}")).status_code == 204
    assert (await phone.is_signed_in(), await desk.is_signed_in()) == (False, True)
    assert (await desk.delete(f"sessions/{other}")).status_code == 404
    eve = await with_password(api, make_link, "eve@example.com")
    assert (await eve.delete(f"sessions/{listed[0]['id']}")).status_code == 404
    assert len((await eve.get("sessions")).json()["sessions"]) == 1
    assert await desk.is_signed_in()


async def test_sign_out_everywhere(start_api: StartApi, make_link: MakeLink, store: dict[str, str]) -> None:
    one, other = await start_api(**store), await start_api(**store)
    phone = await with_password(one, make_link, EMAIL)
    desk = await _signed_in(other)
    third = await _signed_in(one)
    assert (await third.delete("sessions?keep_current=true")).status_code == 204
    phone_elsewhere = PersonAt(other.anonymous, cookies=phone.cookies)
    await eventually(phone_elsewhere.is_out)
    assert not await PersonAt(one.anonymous, cookies=desk.cookies).is_signed_in()
    assert await third.is_signed_in()
    fourth = await _signed_in(other)
    assert (await third.delete("sessions")).status_code == 204
    assert third.secret is None
    await eventually(fourth.is_out)


async def test_a_session_ends_after_its_hours_and_after_its_idle_time(
    start_api: StartApi, make_link: MakeLink, store: dict[str, str]
) -> None:
    ahead = timedelta()
    api = await start_api(
        **store,
        clock=lambda: utc_now() + ahead,
        CHECKLISTS_SESSION_HOURS="2",
        CHECKLISTS_SESSION_IDLE_MINUTES="60",
    )
    await with_password(api, make_link, EMAIL)
    busy, idle = await _signed_in(api), await _signed_in(api)
    ahead = timedelta(minutes=40)

    async def seen_within_a_minute() -> bool:
        [own] = [one for one in (await busy.get("sessions")).json()["sessions"] if one["current"]]
        return utc_now() + ahead - parse_timestamp(own["last_seen_at"]) < timedelta(minutes=1)

    await eventually(seen_within_a_minute)
    ahead = timedelta(minutes=65)
    assert not await idle.is_signed_in()
    assert await busy.is_signed_in()
    assert (await busy.get("sessions")).json()["sessions"][0]["current"]
    for minutes in (90, 115):
        ahead = timedelta(minutes=minutes)
        assert await busy.is_signed_in()
        await eventually(seen_within_a_minute)
    ahead = timedelta(hours=2, seconds=5)
    assert not await busy.is_signed_in()


async def test_of_very_many_sessions_the_oldest_end(
    start_api: StartApi, make_link: MakeLink, store: dict[str, str]
) -> None:
    api = await start_api(**store, CHECKLISTS_SIGN_IN_RATE_LIMIT="off")
    first = await with_password(api, make_link, EMAIL)
    people = [await _signed_in(api) for _ in range(MAX_SESSIONS)]
    assert len((await people[-1].get("sessions")).json()["sessions"]) == MAX_SESSIONS
    assert not await first.is_signed_in()
    assert await people[0].is_signed_in()


async def test_the_session_is_a_random_secret_of_which_the_server_keeps_the_digest(
    api: Api, make_link: MakeLink
) -> None:
    person = await with_password(api, make_link, EMAIL)
    other = await _signed_in(api)
    assert len(str(person.secret)) == 43
    assert person.secret != other.secret
    assert str(person.secret) not in str((await api.kube.list_all(DASHBOARD_SESSION, api.namespace))[0])
    # Two cookies of the name are none.
    for cookies in (f"{COOKIE}={person.secret}; {COOKIE}={person.secret}", f"{COOKIE}={person.secret}; {COOKIE}=other"):
        response = await api.anonymous.get("/dashboard/api/session", headers={"Cookie": cookies})
        assert response.status_code == 401


def test_settings_of_sessions_have_bounds() -> None:
    usual = read_group(SignInSettings, {})
    assert (usual.session_lifetime, usual.session_idle) == (timedelta(hours=12), timedelta(hours=1))
    for name, wrong in (("CHECKLISTS_SESSION_HOURS", "0"), ("CHECKLISTS_SESSION_IDLE_MINUTES", "-5")):
        with pytest.raises(ValueError, match=name):
            read_group(SignInSettings, {name: wrong})
    # It is known where browsers keep no secure cookie.
    kept = (
        "https://checklists.example",
        "http://127.0.0.1:8080",
        "http://localhost:8080/checklists",
        "http://[::1]:8080",
    )
    lost = ("http://192.168.1.20:8080", "http://localhost.example")
    assert [base_url for base_url in kept + lost if keeps_secure_cookies(base_url)] == list(kept)
