"""Passwords of local accounts: what may be one, how they are kept, and how guessing is slowed."""

import asyncio
from functools import partial

import httpx
import pytest
from argon2 import PasswordHasher
from tests.contract.conftest import http_client

from checklist_api.dashboard.sign_in.password_judge import judge
from checklist_api.dashboard.sign_in.passwords import (
    _WAITING_TO_BE_JUDGED,
    CONTEXT_WORDS,
    GUESSES,
    LONGEST,
    SHORTEST,
    Passwords,
)
from checklist_api.wiring import services
from checklist_crds.errors import ServiceUnavailable
from checklist_crds.resources.kinds import LOCAL_ACCOUNT
from checklist_crds.secrets.account_links import account_name
from checklist_crds.secrets.sealing import KeyRing, SealBroken

from .conftest import PASSWORD, Api, MakeLink, StartApi, with_password
from .person import PersonAt

EMAIL = "ada@example.com"


async def _sign_in(api: Api, password: str, email: str = EMAIL) -> tuple[int, str]:
    response = await PersonAt(api.anonymous).post("sign-in/password", {"email": email, "password": password})
    return response.status_code, response.json().get("error", "")


async def test_a_person_signs_in_with_exactly_the_password_they_set(api: Api, make_link: MakeLink) -> None:
    longest = ("violet tram under gravel, " * 6)[: LONGEST - 9] + "orchid 7!"
    assert len(longest) == LONGEST
    words = (PASSWORD, "ein grünes Fahrrad im Schnee", "木の上の猫と赤い傘の話です", "k7Qm2vX9pLrT", longest)
    for number, password in enumerate(words):
        email = f"ada{number}@example.com"
        await with_password(api, make_link, email, password)
        assert await _sign_in(api, password, f" {email.upper()} ") == (200, "")
        for wrong in {password.swapcase(), password + " ", password[:-1] + "?"} - {password}:
            assert await _sign_in(api, wrong, email) == (401, "sign_in_failed")


async def test_sign_in_does_not_reveal_whether_an_account_exists(api: Api, make_link: MakeLink) -> None:
    await with_password(api, make_link, EMAIL)
    responses = set()
    for email in (EMAIL, "unknown@example.com", "no address"):
        body = {"email": email, "password": "wrong wrong wrong"}
        response = await PersonAt(api.anonymous).post("sign-in/password", body)
        responses.add((response.status_code, response.json()["error"], response.json()["message"]))
    assert len(responses) == 1


async def test_an_address_takes_the_same_work_however_many_accounts_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[tuple[int, int, int]] = []
    passwords = Passwords()
    hashed = await passwords.hash(PASSWORD)
    shared = [hashed, *[await passwords.hash(f"{PASSWORD} {number}", salt_of=hashed) for number in range(5)]]
    real = PasswordHasher.hash

    def recording(hasher: PasswordHasher, password: str, *, salt: bytes | None = None) -> str:
        work.append((hasher.time_cost, hasher.memory_cost, len(salt or b"")))
        return real(hasher, password, salt=salt)

    monkeypatch.setattr(PasswordHasher, "hash", recording)
    for number, hashes in enumerate(([], [hashed], shared)):
        assert await passwords.matching(hashes, "wrong wrong wrong") == [False] * len(hashes)
        assert len(work) == number + 1
    assert await passwords.matching(shared, f"{PASSWORD} 3") == [False, False, False, False, True, False]
    assert len(set(work)) == 1
    many = [await passwords.hash(PASSWORD) for _ in range(10)]
    del work[:]
    await passwords.matching([*many, "no hash"], PASSWORD)
    assert len(work) <= 4
    passwords.close()


async def test_hashes_are_sealed_and_renewed(start_api: StartApi, make_link: MakeLink, sealing_keys: str) -> None:
    old = await start_api()
    await with_password(old, make_link, EMAIL)
    name = account_name(EMAIL)
    owner, ring = f"{old.namespace}/{name}/password", KeyRing.parse(sealing_keys)
    account = await old.kube.get(LOCAL_ACCOUNT, name, old.namespace)
    sealed = account["spec"]["sealedPassword"]
    assert ring.open(sealed, owner=owner).startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    with pytest.raises(SealBroken):
        ring.open(sealed, owner=f"{old.namespace}/{account_name('eve@example.com')}/password")
    assert PASSWORD not in str(account)
    weak = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash(PASSWORD)
    patch = {"spec": {"sealedPassword": ring.seal(weak, owner=owner)}}
    await old.kube.patch(LOCAL_ACCOUNT, name, patch, old.namespace)
    rotated = f"k2:{'A' * 43}=,{sealing_keys}"
    new = await start_api(CHECKLISTS_SEALING_KEYS=rotated)
    assert await _sign_in(new, PASSWORD) == (200, "")
    account = await new.kube.get(LOCAL_ACCOUNT, name, new.namespace)
    assert account["spec"]["sealedPassword"].startswith("k2:")
    hashed = KeyRing.parse(rotated).open(account["spec"]["sealedPassword"], owner=owner)
    assert "m=19456,t=2" in hashed


REFUSED = {
    "x" * (SHORTEST - 1): "too_short",
    "violet tram " * 20: "too_long",
    "password1234": "too_common",
    "P@ssw0rd2026!!": "too_common",
    "qwertyuiop[]": "too_common",
    "aaaaaaaaaaaaaaaaaaaa": "too_common",
    "ada@example.com": "too_common",
    "checklistdispatch": "too_common",
    "Checklists2026!": "too_common",
}


async def test_a_password_that_is_short_or_known_is_refused(api: Api, make_link: MakeLink) -> None:
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link(EMAIL)})
    await person.session()
    for password, code in REFUSED.items():
        response = await person.post("account/password", {"new_password": password})
        assert response.status_code == 422, password
        [problem] = response.json()["details"]
        assert (problem["path"], problem["code"]) == ("new_password", code), password


def test_the_most_common_passwords_of_that_length_are_refused_and_their_variations() -> None:
    from zxcvbn.frequency_lists import FREQUENCY_LISTS

    known = FREQUENCY_LISTS["passwords"]
    long = [word for word in known if SHORTEST <= len(word) <= LONGEST]
    made = [*long, *(f"{word}{end}" for word in known[:3500] for end in ("12345678",) if len(word) >= 4)]
    assert len(made) >= 3000
    assert [word for word in made[::10] if judge(word, CONTEXT_WORDS) >= GUESSES] == []


HOSTILE = ["4@8({[<369&#!1/|0$5+7%2" * 3, "a4@b8c({[<e3g69i!|1l1o0s$5t+7x%z2" * 2]


async def test_a_hostile_password_times_out_and_delays_no_other_sign_in() -> None:
    """Digits and signs that may all stand for letters, in many ways: over half a second on the fastest machine."""
    passwords = Passwords(judging_s=0.3)
    judging = [asyncio.create_task(passwords.problems(HOSTILE[n % 2], own=(), path="p")) for n in range(4)]
    judged, signing_in = asyncio.gather(*judging), asyncio.create_task(passwords.verify(None, PASSWORD))
    assert await signing_in is False
    assert not judged.done(), "signing in waits for what is judged"
    assert [[problem.code for problem in found] for found in await judged] == [["not_judged"]] * 4
    passwords.close()


async def test_32_hostile_passwords_at_once_hold_up_no_sign_in(
    start_api: StartApi, make_link: MakeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, from one person who was invited. The first are judged until the kernel ends their judges; those that
    find no place are refused; the sign-in is answered before the others are."""
    # The second second of processor time would only make the test longer.
    monkeypatch.setattr(services, "Passwords", partial(Passwords, judging_s=1.0))
    api = await start_api(CHECKLISTS_SIGN_IN_RATE_LIMIT="1/s burst 64")
    await with_password(api, make_link, EMAIL)
    async with http_client(api.base_url) as http:  # its answers come when the machine has got to them
        http.timeout = httpx.Timeout(300)
        invited = PersonAt(http)
        await invited.post("sign-in/link", {"secret": await make_link("eve@example.com")})
        await invited.session()
        hostile_requests = asyncio.gather(
            *(invited.post("account/password", {"new_password": f"{number:02d}{HOSTILE[0]}"}) for number in range(32))
        )
        assert await _sign_in(api, PASSWORD) == (200, "")
        assert not hostile_requests.done(), "signing in waits for what is judged"
        answers = await hostile_requests
    responses = [
        (answer.status_code, [problem["code"] for problem in answer.json().get("details") or ()]) for answer in answers
    ]
    judged, refused = (422, ["not_judged"]), (503, [])
    assert all(one in (judged, refused) for one in responses), responses
    assert responses.count(judged) >= _WAITING_TO_BE_JUDGED


async def test_setting_passwords_is_throttled(start_api: StartApi, make_link: MakeLink) -> None:
    api = await start_api(CHECKLISTS_SIGN_IN_RATE_LIMIT="0.01/s burst 3")
    person = PersonAt(api.anonymous)
    await person.post("sign-in/link", {"secret": await make_link(EMAIL)})
    await person.session()
    answers = [(await person.post("account/password", {"new_password": "password1234"})).status_code for _ in range(5)]
    assert answers == [422, 422, 422, 429, 429]


async def test_changing_it_asks_for_the_present_one_and_ends_the_other_sessions(api: Api, make_link: MakeLink) -> None:
    first = await with_password(api, make_link, EMAIL)
    other = PersonAt(api.anonymous)
    await other.post("sign-in/password", {"email": EMAIL, "password": PASSWORD})
    before = PersonAt(api.anonymous, cookies=dict(first.cookies))
    new = "seven lamps by the river"
    for given in ({}, {"current_password": "wrong wrong wrong"}, {"current_password": 7}):
        response = await first.post("account/password", {"new_password": new, **given})
        assert (response.status_code, response.json()["details"][0]["path"]) == (422, "current_password")
    assert await other.is_signed_in()
    response = await first.post("account/password", {"new_password": new, "current_password": PASSWORD})
    assert response.status_code == 200
    assert response.json()["csrf_token"] != first.csrf
    signed_in = [await person.is_signed_in() for person in (first, other, before)]
    assert signed_in == [True, False, False]
    assert await _sign_in(api, PASSWORD) == (401, "sign_in_failed")
    assert await _sign_in(api, new) == (200, "")
    # One that was forgotten is replaced shortly after signing in by a link.
    await other.post("sign-in/link", {"secret": await make_link(EMAIL)})
    await other.session()
    assert (await other.post("account/password", {"new_password": PASSWORD})).status_code == 200
    assert await _sign_in(api, PASSWORD) == (200, "")


@pytest.mark.parametrize(
    ("burst", "many", "statuses"),
    [
        (3, "", [401] * 3 + [429] * 3),
        (1, "addresses", [401] * 10 + [429] * 2),
        (1, "accounts", [401] * 10 + [429] * 2),  # one password tried on many
    ],
)
async def test_guessing_is_slowed_and_the_person_elsewhere_still_gets_in(
    start_api: StartApi, make_link: MakeLink, burst: int, many: str, statuses: list[int]
) -> None:
    api = await start_api(CHECKLISTS_SIGN_IN_RATE_LIMIT=f"1/h burst {burst}", CHECKLISTS_TRUSTED_PROXIES="1")
    await with_password(api, make_link, EMAIL)

    async def attempt(number: int, password: str, address: str = "203.0.113.0") -> httpx.Response:
        email = f"{number if many == 'accounts' else 0}@example.com" if many else EMAIL
        headers = {"X-Forwarded-For": f"203.0.113.{number}" if many == "addresses" else address}
        body = {"email": email, "password": password}
        return await PersonAt(api.anonymous).post("sign-in/password", body, headers=headers)

    responses = [await attempt(number, "wrong wrong wrong") for number in range(len(statuses))]
    assert [response.status_code for response in responses] == statuses
    assert int(responses[-1].headers["Retry-After"]) > 60
    assert (await attempt(0, PASSWORD)).status_code == 429
    assert many or (await attempt(0, PASSWORD, "198.51.100.9")).status_code == 200


async def test_hashing_is_bounded_and_leaves_the_loop_free() -> None:
    passwords = Passwords()
    flood = [asyncio.create_task(passwords.verify(None, "wrong wrong wrong")) for _ in range(100)]
    turns = set()
    while not all(task.done() for task in flood):
        await asyncio.sleep(0.001)
        turns.add(sum(task.done() for task in flood))
    results = await asyncio.gather(*flood, return_exceptions=True)
    passwords.close()
    assert sum(isinstance(result, ServiceUnavailable) for result in results) == 68
    assert [result for result in results if result is not False and not isinstance(result, ServiceUnavailable)] == []
    assert len(turns) >= 10, "the loop ran between the hashes"


async def test_local_accounts_that_are_off_open_nothing(start_api: StartApi, make_link: MakeLink) -> None:
    open_api = await start_api()
    person = await with_password(open_api, make_link, EMAIL)
    issuer = {"CHECKLISTS_OIDC_ISSUER": "https://login.example", "CHECKLISTS_OIDC_CLIENT_ID": "c"}
    api = await start_api(**issuer, CHECKLISTS_OIDC_NAME="Example Ltd")
    assert (await PersonAt(api.anonymous).get("sign-in")).json() == {"oidc": {"name": "Example Ltd"}, "local": False}
    assert (await _sign_in(api, PASSWORD))[0] == 404
    stranger = PersonAt(api.anonymous)
    assert (await stranger.post("sign-in/link", {"secret": await make_link(EMAIL)})).status_code == 404
    assert not await PersonAt(api.anonymous, cookies=person.cookies).is_signed_in()
    assert (await PersonAt(open_api.anonymous).get("sign-in")).json() == {"oidc": None, "local": True}
