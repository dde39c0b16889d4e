"""What a provider, or an attacker in its place, may send; and what browsers may be lured into."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

from checklist_api.dashboard.oidc import http as oidc_http
from checklist_api.dashboard.oidc.pending import safe_return
from checklist_crds.times import utc_now
from checklist_dev.local.certificates import credentials_in
from checklist_dev.local.people import make_member

from .conftest import StartApi
from .hostile_provider import CLIENT_ID, HostileProvider, by_hand, hostile_provider, new_key
from .person import PersonAt
from .real_provider import begin


@pytest.fixture
async def provider() -> AsyncIterator[HostileProvider]:
    async with hostile_provider() as provider:
        yield provider


async def test_the_certificate_of_the_provider_is_checked(start_api: StartApi, tmp_path: Path) -> None:
    made = credentials_in(tmp_path / "certificates")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(made.certificate, made.key)
    async with hostile_provider(tls) as provider:
        trusting = await start_api(**provider.settings, CHECKLISTS_OIDC_CA_FILE=str(made.authority))
        assert (await provider.sign_in(PersonAt(trusting.anonymous))).status_code == 303
        provider.asked.clear()
        distrusting = await start_api(**provider.settings)
        assert (await PersonAt(distrusting.anonymous).get("sign-in/oidc")).status_code == 503
        assert provider.asked == {}


TIMES = ("exp", "iat", "nbf")
WRONG_CLAIMS: list[dict[str, Any]] = [
    *({"iss": "https://evil.example"}, {"iss": None}, {"aud": "another"}, {"aud": CLIENT_ID + "x"}, {"aud": None}),
    *({"aud": []}, {"aud": [CLIENT_ID, "another"]}, {"aud": [CLIENT_ID, "another"], "azp": "another"}),
    *({"azp": "another"}, {"nonce": "x" * 43}, {"nonce": None}, {"nonce": ""}, {"exp": -61}, {"exp": None}),
    *({"exp": "tomorrow"}, {"iat": 120}, {"iat": -3600}, {"iat": None}, {"nbf": 120}, {"sub": None}, {"sub": ""}),
    *({"sub": 7}, {"sub": "s" * 256}, {"at_hash": "x" * 22}),
]
"""What is None is left out; times are in seconds from now."""


def changed(claims: dict[str, Any], change: dict[str, Any]) -> None:
    now = int(time.time())
    for name, value in change.items():
        claims[name] = now + value if name in TIMES and isinstance(value, int) else value
        if value is None:
            del claims[name]


async def test_a_token_with_wrong_claims_is_refused(start_api: StartApi, provider: HostileProvider) -> None:
    api = await start_api(**provider.settings)
    for change in WRONG_CLAIMS:
        provider.change_claims = partial(changed, change=change)
        person = PersonAt(api.anonymous)
        response = await provider.sign_in(person)
        assert (response.status_code, person.secret) == (502, None), change
        assert "is not valid, so you are not signed in" in response.text
    for seconds in (-50, 50):  # clocks may differ by less than a minute
        provider.change_claims = partial(changed, change={"iat": seconds, "exp": seconds + 1})
        person = PersonAt(api.anonymous)
        assert (await provider.sign_in(person)).status_code == 303
        assert (await person.session())["email"] == "grace@example.com"


async def test_tokens_that_the_provider_did_not_sign_are_refused(
    start_api: StartApi, provider: HostileProvider
) -> None:
    api = await start_api(**provider.settings)
    other, key = new_key("one"), provider.key

    def exchanged(claims: dict[str, Any]) -> str:
        head, _, signature = provider.signed(claims).split(".")
        return ".".join([head, provider.signed({**claims, "sub": "subject-2"}).split(".")[1], signature])

    ways: dict[str, Any] = {
        "alg none": lambda c: by_hand(c, alg="none"),
        "a shared secret: the public key": lambda c: by_hand(c, key.as_pem(private=False), alg="HS256", kid="one"),
        "another key of that name": lambda c: provider.signed(c, key=other),
        "an unknown key": lambda c: provider.signed(c, key=new_key("two")),
        "a key in its own header": lambda c: provider.signed(c, key=other, jwk=other.as_dict(private=False)),
        "changed claims": exchanged,
        "no signature": lambda c: provider.signed(c).rpartition(".")[0] + ".",
        "no token": lambda c: "nonsense",
        "a critical extension": lambda c: by_hand(c, key, alg="RS256", kid="one", crit=["x"], x=1),
    }
    for way, make in ways.items():
        provider.make_token = make
        person = PersonAt(api.anonymous)
        response = await provider.sign_in(person)
        assert (response.status_code, person.secret) == (502, None), way
    provider.make_token = lambda claims: by_hand(claims, key, alg="RS256", kid="one")
    assert (await provider.sign_in(PersonAt(api.anonymous))).status_code == 303
    assert (provider.asked["/jwks"], provider.asked["/.well-known/openid-configuration"]) == (1, 1), "not for each"


@pytest.mark.parametrize("promised", [False, True])
async def test_other_issuers_are_refused(start_api: StartApi, provider: HostileProvider, promised: bool) -> None:
    provider.change_metadata = lambda document: document.update(authorization_response_iss_parameter_supported=promised)
    api = await start_api(**provider.settings)
    wrong: list[dict[str, str]] = [{"iss": "https://evil.example"}, {"iss": ""}, *([{}] if promised else [])]
    for answer in wrong:
        assert (await provider.sign_in(PersonAt(api.anonymous), **answer)).status_code == 502
    assert "/token" not in provider.asked
    assert (await provider.sign_in(PersonAt(api.anonymous), iss=provider.issuer)).status_code == 303


WRONG_METADATA = [
    *({"issuer": "https://evil.example"}, {"issuer": None}, {"token_endpoint": None}),
    *({"token_endpoint": "http://evil.example/token"}, {"jwks_uri": "file:///etc/passwd"}),
    *({"authorization_endpoint": "javascript:alert(1)"}, {"end_session_endpoint": "http://evil.example/out"}),
]


@pytest.mark.parametrize("change", WRONG_METADATA, ids=str)
async def test_bad_metadata_is_refused(start_api: StartApi, provider: HostileProvider, change: dict[str, Any]) -> None:
    provider.change_metadata = lambda document: document.update(change)
    api = await start_api(**provider.settings)
    response = await PersonAt(api.anonymous).get("sign-in/oidc")
    assert (response.status_code, "Location" in response.headers) == (502, False)


async def test_redirects_floods_and_nonsense_are_no_answers(start_api: StartApi, provider: HostileProvider) -> None:
    api = await start_api(**provider.settings)
    followed = []

    def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"{provider.issuer}/elsewhere"})

    provider.answers["/elsewhere"] = lambda request: followed.append(request.path) or web.json_response({})
    ways = {
        "a redirect": elsewhere,
        "a flood": lambda _: web.Response(body=b'{"a":"' + b"x" * 400_000 + b'"}'),
        "a compressed flood": lambda _: web.Response(body=b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"}),
        "no JSON": lambda _: web.Response(text="<html>"),
        "a list": lambda _: web.json_response([]),
        "deep nonsense": lambda _: web.Response(body=b"[" * 100_000),
        "an error": lambda _: web.json_response({"error": "invalid_client"}, status=401),
    }
    for way, answer in ways.items():
        provider.answers["/token"] = answer
        response = await provider.sign_in(PersonAt(api.anonymous))
        assert response.status_code == 502, way
    assert followed == []
    provider.answers["/token"] = lambda _: web.Response(status=500)
    assert (await provider.sign_in(PersonAt(api.anonymous))).status_code == 503
    provider.answers["/token"] = lambda _: web.json_response({"error": "invalid_grant"}, status=400)
    assert (await provider.sign_in(PersonAt(api.anonymous))).status_code == 400


async def test_a_slow_provider_is_not_waited_for_without_end(
    start_api: StartApi, provider: HostileProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc_http, "TOTAL_TIMEOUT_S", 0.5)
    api = await start_api(**provider.settings)

    async def slowly(_: web.Request) -> web.Response:
        await asyncio.sleep(20)
        return web.json_response({})

    provider.answers["/.well-known/openid-configuration"] = slowly
    waiting = asyncio.create_task(PersonAt(api.anonymous).get("sign-in/oidc"))
    assert (await api.http.get("/v1/templates")).status_code == 200
    started = time.perf_counter()
    assert (await waiting).status_code == 503
    many = await asyncio.gather(*(PersonAt(api.anonymous).get("sign-in/oidc") for _ in range(30)))
    assert {response.status_code for response in many} == {503}
    assert time.perf_counter() - started < 8  # and not half a second for each, one after the other
    assert provider.asked["/.well-known/openid-configuration"] < 5


async def test_a_refusal_of_the_provider_is_shown_in_plain_words(
    start_api: StartApi, provider: HostileProvider, caplog: pytest.LogCaptureFixture
) -> None:
    api = await start_api(**provider.settings)
    caplog.set_level("INFO")
    statuses = {"access_denied": 403, "login_required": 403, "temporarily_unavailable": 503, "server_error": 503}
    for error, status in {**statuses, "<script>alert(1)</script>": 403}.items():
        response = await provider.sign_in(PersonAt(api.anonymous), error=error, error_description="<b>call 555</b>")
        number = response.headers["X-Request-Id"]
        assert (response.status_code, number in response.text) == (status, True)
        assert number in [getattr(record, "request_id", "") for record in caplog.records]
        assert not [word for word in ("script", "call") if word in response.text]
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


async def test_addresses_need_verification(start_api: StartApi, provider: HostileProvider) -> None:
    distrusting = await start_api(**provider.settings)
    trusting = await start_api(**provider.settings, CHECKLISTS_OIDC_TRUST_EMAIL="1")

    async def memberships(api: Any, email: str, **claims: Any) -> int:
        await make_member(api.kube, organization=api.organization, namespace=api.namespace, role="viewer", email=email)

        def change(given: dict[str, Any]) -> None:
            given.pop("email_verified")
            given.update(email=email, sub=email, **claims)

        provider.change_claims = change
        person = PersonAt(api.anonymous)
        assert (await provider.sign_in(person)).status_code == 303
        return len((await person.session())["organizations"])

    for number, word in enumerate((False, "yes", 1.5)):
        assert await memberships(distrusting, f"no{number}@example.com", email_verified=word) == 0
    assert await memberships(distrusting, "silent@example.com") == 0
    assert await memberships(distrusting, "true@example.com", email_verified="true") == 1
    assert await memberships(trusting, "silent-too@example.com") == 1
    assert await memberships(trusting, "false@example.com", email_verified=False) == 0
    # It may come from userinfo, of the same subject only.
    provider.change_claims = lambda claims: claims.pop("email")
    me = {"sub": "subject-1", "email": "grace@example.com"}
    for found, status in ((me, 303), ({**me, "sub": "subject-2"}, 502), ({"sub": "subject-1"}, 403)):
        provider.answers["/me"] = lambda _, found=found: web.json_response(found)
        assert (await provider.sign_in(PersonAt(distrusting.anonymous))).status_code == status


async def test_an_answer_is_taken_once_and_not_too_late(start_api: StartApi, provider: HostileProvider) -> None:
    late = timedelta()
    api = await start_api(**provider.settings, clock=lambda: utc_now() + late)
    person = PersonAt(api.anonymous)
    await begin(person)
    late = timedelta(minutes=10, seconds=5)
    response = await person.get("sign-in/oidc/callback?code=c&state=s")
    assert response.status_code == 400
    assert "/token" not in provider.asked

    # Taken once, even by a provider that takes its code again.
    late = timedelta()
    query = parse_qs(urlsplit(await begin(person)).query)
    provider.nonce, callback = query["nonce"][0], f"sign-in/oidc/callback?code=c&state={query['state'][0]}"
    again = PersonAt(api.anonymous, cookies=dict(person.cookies))
    assert (await person.get(callback)).status_code == 303
    response = await again.get(callback)
    assert (response.status_code, again.secret, provider.asked["/token"]) == (400, None, 1)


ELSEWHERE = (
    *(None, "", "https://evil.example/", "//evil.example/dashboard", "/\\evil.example", "/dashboard\\..\\evil"),
    *("/dashboard//evil.example", "/dashboard/../v1/runs", "/dashboard/%2e%2e/v1", "/dashboard/%2fevil", "/dashboardx"),
    *("/v1/templates", "/", "/r", "dashboard", "/dashboard\r\nSet-Cookie: a=b", "/dashboard#x"),
    *("/dashboard/api/sign-in/oidc", "javascript:alert(1)", "/dashboard/" + "x" * 1000),
)
WANTED = ("/dashboard", "/dashboard/org-1/runs?status=pending&q=a%20b", "/r/r-12345678")


@pytest.mark.parametrize("given", [*ELSEWHERE, *WANTED])
def test_sign_in_redirects_to_own_pages_only(given: str | None) -> None:
    assert safe_return(given, "") == (given if given in WANTED else "/dashboard")
    assert safe_return(given, "/checklists") == "/checklists/dashboard"
    if given in WANTED:
        assert safe_return(f"/checklists{given}", "/checklists") == f"/checklists{given}"
