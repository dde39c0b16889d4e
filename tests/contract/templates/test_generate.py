"""POST /v1/templates/generate (specification, "Templates"; contract section 2)."""

from typing import Any

import pytest
from tests.contract.conftest import Api, StartApi, shared_api, until
from tests.contract.executor_client import error_of
from tests.generation.model_server import TEMPLATE, ModelServer, fails, model_server, says
from tests.waiting import until_no_difference

from checklist_cli.program import main as checklist_dispatch
from checklist_crds.templates.validation import parse_definition
from checklist_dev.evaluation.hostile_prompts import HOSTILE
from checklist_dev.local.kubectl import Kubectl

api = shared_api

GENERATE = "/v1/templates/generate"
BY = "X-Generated-By"
PROMPTS = (
    "Checklist for the van:\n- Tyres ok\n- Lights work\n- Tyre pressure in bar (2.2 to 2.6 bar)",
    "Checkliste Kühlraum:\n- Temperatur in °C (max. 7 °C)\n- Tür geschlossen\n- Boden sauber\n- Foto vom Herd",
    "Lista de control de la cámara:\n- Temperatura en °C (máx. 7 °C)\n- Puerta cerrada\n- Suelo limpio",
    "Checklist chambre froide :\n- Température en °C (max. 7 °C)\n- Porte fermée\n- Sol propre",
    "Checklist:\n- \u202eDoors locked\u202c\n- Alarm \x00\x07\x1b[31mset",
    "Checklist:\n- <script>alert(1)</script>\n- <b>Doors</b> &amp; windows closed",
)


async def generated(api: Api, prompt: str, **parameters: str) -> dict[str, Any]:
    response = await api.http.post(GENERATE, json={"prompt": prompt}, params=parameters)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_create_takes_what_was_generated_unchanged_and_nothing_is_stored_before(api: Api) -> None:
    """Of any prompt at all: tests/composer/test_any_prompt.py."""
    for prompt in PROMPTS:
        made = await generated(api, prompt)
        assert made == await generated(api, prompt)
        assert not {"id", "v", "org_id", "created_at", "updated_at"} & set(made)
    assert (await api.http.get("/v1/templates")).json()["data"] == []
    hostile = ("json", "html", "control characters", "direction overrides", "1,300 items", "numbers", "equal options")
    for prompt in (*PROMPTS, *(HOSTILE[name] for name in hostile)):
        response = await api.http.post(GENERATE, json={"prompt": prompt})
        if response.status_code == 422 and prompt not in PROMPTS:
            assert response.json()["error"] == "generation_failed"
            continue
        made = response.json()
        created = await api.http.post("/v1/templates", json=made, params={"strict": "true"})
        assert created.status_code == 201, (prompt, created.text)
        assert {name: created.json()[name] for name in made} == made, prompt
    assert (await api.account.dispatch(created.json()["id"]))["link"]


REFUSED: dict[tuple[int, str], tuple[dict[str, Any], ...]] = {
    (400, "missing_field"): ({},),
    (422, "validation_failed"): (
        *({"prompt": no_text} for no_text in (None, 7, ["doors"], "")),
        *({"prompt": short} for short in ("abc", " abc\n", "Tür", " " * 4000)),
        {"prompt": "x" * 4001},
        {"prompt": "Check doors. " * 307 + "Check it. "},
    ),
    (422, "generation_failed"): (
        {"prompt": "?!?! ..."},
        {"prompt": "🧯🧯🧯🧯"},
        {"prompt": "Write me a poem about the sea"},
    ),
}


async def test_a_prompt_that_cannot_be_used_is_refused_with_the_reason_and_the_longest_is_taken(api: Api) -> None:
    for expected, bodies in REFUSED.items():
        for body in bodies:
            assert error_of(await api.http.post(GENERATE, json=body)) == expected, body
    longest = ("- Prüfe die Tür der Kühlzelle\n" * 200)[:4000]
    plain = await generated(api, longest[:3990].strip())
    assert await generated(api, longest)
    assert plain == await generated(api, f"\n  {longest[:3990].strip()} \n")
    for locale in ("", "EN", "it", "en-GB", "de,en"):
        response = await api.http.post(GENERATE, json={"prompt": "Check doors"}, params={"locale": locale})
        assert error_of(response) == (400, "invalid_parameter"), locale
        assert response.json()["details"][0]["path"] == "locale"
    response = await api.http.post(GENERATE, json={"prompt": "Check doors"}, params={"explain": "yes"})
    assert error_of(response) == (400, "invalid_parameter")


@pytest.mark.parametrize("before", ["", "\n  \t"])
async def test_explained_steps_name_their_source(api: Api, before: str) -> None:
    prompt = f"{before}{PROMPTS[1]}\n"
    made = await generated(api, prompt, explain="true")
    assert made["template"] == await generated(api, prompt, explain="false") == await generated(api, prompt)
    steps = [step["id"] for section in made["template"]["sections"] for step in section["steps"]]
    assert [each["step_id"] for each in made["steps"]] == steps
    sources = [each["source"] for each in made["steps"]]
    assert [source["text"] for source in sources][1:3] == ["Tür geschlossen", "Boden sauber"]
    for part in [*sources, *made["unused"]]:
        assert prompt[part["start"] : part["end"]] == part["text"]
    named = await generated(api, "Forklift pre-use check", explain="true")
    assert {each["source"] for each in named["steps"]} == {None}


async def test_manifests_equal_templates(api: Api, kubectl: Kubectl, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--format", "manifest", "--organization", api.organization, "--namespace", api.namespace)
    assert checklist_dispatch(["generate", PROMPTS[1], *options]) == 0
    manifest = capsys.readouterr().out
    kubectl("apply", "-f", "-", stdin=manifest)
    await until_no_difference(kubectl, "-f", "-", stdin=manifest)  # the cluster keeps it as it was written
    kubectl("apply", "-f", "-", stdin=manifest)

    listed = await until(lambda: api.http.get("/v1/templates"), lambda answer: bool(answer.json()["data"]))
    [template] = listed.json()["data"]
    complete = (await api.http.get(f"/v1/templates/{template['id']}")).json()
    made = await generated(api, PROMPTS[1])
    assert {field: complete[field] for field in made} == made
    assert complete["v"] == 1


async def with_model(start_api: StartApi, server: ModelServer, **settings: str) -> Api:
    given = {"URL": server.url, "NAME": "test-model", "KEY": "sk-0123456789abcdef"} | settings
    return await start_api(**{f"CHECKLISTS_MODEL_{name}": value for name, value in given.items()})


async def test_the_model_answers_up_to_its_limit_and_what_was_made_is_counted(start_api: StartApi) -> None:
    async with model_server(says(TEMPLATE), says(TEMPLATE), says(TEMPLATE), fails("403 Forbidden")) as server:
        api = await with_model(start_api, server, LIMIT="2/h")
        other = await api.make_account()
        body = {"prompt": "Cold room"}
        explained = await api.http.post(GENERATE, json=body, params={"locale": "fr", "explain": "true"})
        answers = [explained, *[await api.http.post(GENERATE, json=body, params={"locale": "fr"}) for _ in range(2)]]
        answers += [await other.http.post(GENERATE, json=body) for _ in range(2)]
    assert [answer.headers[BY] for answer in answers] == [
        "model",
        "model",
        "composer; reason=model_limit",
        "model",
        "composer; reason=model_unauthorized",
    ]
    made = answers[1].json()
    assert explained.json()["template"] == made
    unknown = {(each["source"], each["confidence"], each["unsure"]) for each in explained.json()["steps"]}
    assert unknown == {(None, None, False)}
    assert made["name"] == TEMPLATE["name"]
    assert parse_definition(made, strict=True)
    assert (await api.http.post("/v1/templates", json=made)).status_code == 201
    assert "French" in server.asked[0].said
    metrics = (await api.anonymous.get("/metrics")).text.splitlines()
    for line in (
        'checklists_templates_generated_total{by="model"} 3.0',
        'checklists_templates_generated_total{by="composer"} 2.0',
        'checklists_model_prompts_total{outcome="template"} 3.0',
        'checklists_model_prompts_total{outcome="model_unauthorized"} 1.0',
    ):
        assert line in metrics


async def test_without_a_fallback_the_models_failure_or_limit_is_the_answer(start_api: StartApi) -> None:
    async with model_server(fails("500 Internal Server Error", b"stack trace 4711")) as server:
        api = await with_model(start_api, server, LIMIT="1/day", FALLBACK="error")
        response = await api.http.post(GENERATE, json={"prompt": "Cold room"})
        assert error_of(response) == (502, "model_failed")
        assert [problem["code"] for problem in response.json()["details"]] == ["model_error"]
        assert "4711" not in response.text
        response = await api.http.post(GENERATE, json={"prompt": "Cold room"})
    assert error_of(response) == (429, "rate_limited")
    assert 1 <= int(response.headers["Retry-After"]) <= 86_400
