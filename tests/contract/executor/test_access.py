"""Who gets in: the token of the link opens one run and nothing else (contract section 6)."""

from datetime import timedelta
from itertools import product

from tests.contract.conftest import Api, StartApi, owned, shared_api
from tests.contract.executor_client import OPERATIONS, Person, error_of, person_for, step

from checklist_crds.ids import new_id
from checklist_crds.resources.kinds import RUN
from checklist_crds.times import utc_now

api = shared_api

WRITES = OPERATIONS[3:]


async def test_the_fragment_of_the_dispatched_link_is_the_token_and_the_owners_key_is_none(api: Api) -> None:
    template = await api.account.create_template()
    run = await api.account.dispatch(template["id"])
    address, _, token = run["link"].partition("#")
    assert address.endswith(f"/r/{run['run_id']}")
    assert (await Person(run["run_id"], api, token).look())["run_id"] == run["run_id"]
    path, good = f"/v1/executor/runs/{run['run_id']}", ("Authorization", f"Executor {token}")
    assert (await api.anonymous.get(path, headers=[good, good])).status_code == 401
    assert (await api.http.get(path)).status_code == 401


async def test_every_operation_refuses_a_missing_and_a_wrong_token_alike(api: Api) -> None:
    person = await person_for(api, step("a"), allow_skip=True)
    other = api.token(new_id("r"))
    wrong = [None, f"Executor {other}", "Executor", f"Bearer {person.token}", "Executor \xe9" + "a" * 42]
    answers = set()
    for (method, path, body), run_id in product(OPERATIONS, (person.run_id, new_id("r"))):
        for authorization in wrong:
            headers: dict[str, str | bytes] = {"X-Request-Id": "same"}
            if authorization:
                headers["Authorization"] = authorization.encode("latin-1")
            response = await api.anonymous.request(
                method, f"/v1/executor/runs/{run_id}{path}", headers=headers, **({"json": body} if body else {})
            )
            assert error_of(response) == (401, "unauthorized")
            assert response.headers["WWW-Authenticate"] == "Executor"
            answers.add(response.text)
    assert len(answers) == 1
    assert await person.events() == []


async def test_an_unknown_run_and_one_that_is_not_admitted_are_not_found_with_the_right_token(api: Api) -> None:
    not_admitted = new_id("r")
    body = owned(RUN, not_admitted, api.organization, api.namespace, {"templateId": new_id("t")})
    await api.kube.create(RUN, body, api.namespace)
    for run_id in (not_admitted, new_id("r"), "r-1", "R-00000000-0000-4000-8000-000000000000", "x"):
        person = Person(run_id, api, api.token(run_id))
        assert error_of(await person.call("GET")) == (404, "run_not_found")
        assert error_of(await person.answer("a")) == (404, "run_not_found")


async def test_looking_and_opening_leave_no_trace(api: Api) -> None:
    person = await person_for(api, step("a"))
    before = await api.kube.get(RUN, person.run_id, api.namespace)
    await person.call("GET")
    await person.call("HEAD")
    assert (await person.call("POST", "/open")).json()["status"] == "pending"
    assert (await person.call("POST", "/open", json={"op_id": "1"})).status_code == 200
    await api.anonymous.get(f"/v1/runs/{person.run_id}/preview")
    for agent in ("WhatsApp/2.24", "facebookexternalhit/1.1", "Mozilla/5.0 (iPhone)"):
        for method in ("GET", "HEAD"):
            page = await api.anonymous.request(method, f"/r/{person.run_id}", headers={"User-Agent": agent})
            assert (page.status_code, bool(page.content)) == (200, method == "GET")
    assert await api.kube.get(RUN, person.run_id, api.namespace) == before


async def test_the_view_holds_the_checklist_and_its_state_and_nothing_of_the_owner(api: Api) -> None:
    hidden = step("why", "text", required=True, condition={"when": {"step": "s-a", "op": "eq", "value": False}})
    person = await person_for(
        api, step("a", required=True), hidden, dispatch={"executor_ref": "secret reference", "expires_in_hours": 1}
    )
    view = await person.look()
    assert view["status"] == "pending"
    assert [entry["id"] for entry in view["template"]["sections"][0]["steps"]] == ["s-a", "s-why"]
    assert view["template"]["sections"][0]["steps"][0]["photo"] is False
    assert (view["applicable_steps"], view["missing_steps"]) == (["s-a"], ["s-a"])
    assert view["progress"] == {"total": 1, "answered": 0, "skipped": 0}
    assert (view["answers"], view["skipped_steps"]) == ({}, [])
    assert view["executor_identity"] == {"mode": "anonymous"}
    assert view["created_by_name"] == "Ada Lovelace"
    assert view["expires_at"] is not None
    text = (await person.call("GET")).text
    for secret in ("secret reference", "hooks.example.com", "a-secret-of-the-test", api.organization):
        assert secret not in text
    # It stays what it is when the template goes.
    template = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["template_id"]
    assert (await api.http.delete(f"/v1/templates/{template}")).status_code == 204
    assert await person.look() == view


async def test_from_the_instant_of_expiry_on_the_run_is_gone_for_its_executor(start_api: StartApi) -> None:
    now = utc_now()
    ends = now + timedelta(hours=1)
    api = await start_api(clock=lambda: now)
    person = await person_for(api, step("a"), allow_skip=True, dispatch={"expires_in_hours": 1})
    assert (await person.answer("a", op_id="1")).status_code == 200
    now = ends - timedelta(milliseconds=1)
    assert (await person.answer("a", False)).status_code == 200
    now = ends
    for path in ("", "/receipt"):
        assert error_of(await person.call("GET", path)) == (410, "run_expired")
    for method, path, body in WRITES:
        response = await person.call(method, path, **({"json": body} if body else {}))
        each = response.json()["results"][0] if path == "/operations" else response.json()
        assert each["error"] == "run_expired", path
        assert each.get("status", response.status_code) == 410
    replay = await person.answer("a", op_id="1")
    assert (replay.status_code, replay.json()["status"], replay.json()["replayed"]) == (200, "expired", True)
    assert (await person.stored())["phase"] == "InProgress"
