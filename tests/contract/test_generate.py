"""POST /v1/templates/generate (specification, "Templates"; contract section 2)."""

import asyncio
from typing import Any

import pytest
from tests.generation.model_server import TEMPLATE, ModelServer, fails, model_server, says, stays_silent

from checklist_cli.program import main as checklist_dispatch
from checklist_composer.library import heads
from checklist_composer.locales import LOCALES
from checklist_crds.kube.kinds import TEMPLATE as TEMPLATE_KIND
from checklist_crds.template_validation import parse_definition
from checklist_dev.evaluation.cases import load_cases
from checklist_dev.kubectl import Kubectl

from .conftest import Api, StartApi

GENERATE = "/v1/templates/generate"
JSON = {"Content-Type": "application/json"}
STRICT = {"strict": "true"}
PROMPTS = {
    "en": "Van before the trip: check tyres, lights and mirrors. Tyre pressure 2.2 to 2.6 bar.",
    "de": "Küche: Kühlschrank unter 5 °C, Boden sauber? Foto vom Herd.",
    "es": "Revisar puertas, ventanas y luces. Temperatura de la nevera por debajo de 5 °C.",
    "fr": "Vérifier les portes, les fenêtres et les lumières. Température du frigo inférieure à 5 °C.",
}


async def generated(api: Api, prompt: str, **parameters: str) -> dict[str, Any]:
    response = await api.http.post(GENERATE, json={"prompt": prompt}, params=parameters)
    assert response.status_code == 200, response.text
    return dict(response.json())


@pytest.mark.parametrize("locale", LOCALES)
async def test_create_takes_what_was_generated_unchanged(api: Api, locale: str) -> None:
    made = await generated(api, PROMPTS[locale])
    assert not {"id", "v", "org_id", "created_at", "updated_at"} & set(made)
    assert sum(len(section["steps"]) for section in made["sections"]) >= 3
    created = await api.http.post("/v1/templates", json=made, params={"strict": "true"})
    assert created.status_code == 201, created.text
    assert {name: created.json()[name] for name in made} == made
    assert (await api.account.dispatch(created.json()["id"]))["link"]


HOSTILE = (
    "🧯" * 4000,
    "\u202eCheck the doors\u202c and \x00\x07\x1b[31mlights",
    "<script>alert(1)</script> <b>Check</b> the doors &amp; windows",
    '{"sections": [{"id": "g-1", "steps": [{"id": "s-1", "type": "boolean"}]}], "org_id": "org-1"}',
    "check " * 666,
    "a, " * 1300,
    "If " * 1300 + "it is damaged take two photos",
    "1-" * 2000,
    "temperature below 1e999 °C, weight at least -0.0 kg, 99999999999999999999 photos",
    "rate from 5 to 1, rate from 1 to 1000000, choose one of: a, a, A, a",
    "Küche: Küche: Küche:\n- \n- -\n* *\n| a | b |\n|---|---|\n| 1 | 2 |",
    "פתיחת המסעדה בבוקר: דלתות, אורות, מקרר",
)


async def test_create_takes_what_is_made_of_any_prompt_unchanged(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="off")
    titles = [head.title.in_(LOCALES[number % len(LOCALES)]) for number, head in enumerate(heads())]
    prompts = [*HOSTILE, *titles, *(case.prompt for case in load_cases())]
    taken = 0
    for prompt in prompts:
        response = await api.http.post(GENERATE, json={"prompt": prompt})
        if prompt in HOSTILE and response.status_code == 422:
            assert response.json()["error"] == "generation_failed"
            continue
        assert response.status_code == 200, (prompt, response.text)
        made = response.json()
        created = await api.http.post("/v1/templates", content=response.content, headers=JSON, params=STRICT)
        assert created.status_code == 201, (prompt, created.text)
        assert {name: created.json()[name] for name in made} == made, prompt
        taken += 1
    assert taken >= len(prompts) - len(HOSTILE)


async def test_nothing_is_stored(api: Api) -> None:
    await generated(api, PROMPTS["en"])
    assert (await api.http.get("/v1/templates")).json()["data"] == []
    assert (await api.kube.list_all(TEMPLATE_KIND, api.namespace))[0] == []


async def test_the_same_prompt_gives_the_same_bytes(api: Api) -> None:
    answers = {(await api.http.post(GENERATE, json={"prompt": PROMPTS["en"]})).content for _ in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "missing_field"),
        ({"prompt": None}, 422, "validation_failed"),
        ({"prompt": 7}, 422, "validation_failed"),
        ({"prompt": ["doors"]}, 422, "validation_failed"),
        ({"prompt": ""}, 422, "validation_failed"),
        ({"prompt": "abc"}, 422, "validation_failed"),
        ({"prompt": " abc\n"}, 422, "validation_failed"),
        ({"prompt": " " * 4000}, 422, "validation_failed"),
        ({"prompt": "x" * 4001}, 422, "validation_failed"),
        ({"prompt": "Check doors. " * 307 + "Check it. "}, 422, "validation_failed"),
        ({"prompt": "?!?! ..."}, 422, "generation_failed"),
    ],
)
async def test_a_prompt_that_cannot_be_used_is_refused_with_the_reason(
    api: Api, body: dict[str, Any], status: int, code: str
) -> None:
    response = await api.http.post(GENERATE, json=body)
    assert (response.status_code, response.json()["error"]) == (status, code)


@pytest.mark.parametrize("prompt", ["Tür", "🧯🧯🧯🧯", "Check the doors. " * 235])
async def test_characters_are_counted_and_not_bytes(api: Api, prompt: str) -> None:
    prompt = prompt.ljust(4, "?")
    assert 4 <= len(prompt) <= 4000
    status = (await api.http.post(GENERATE, json={"prompt": prompt})).status_code
    # Whether there is anything to check in it is another question, with another code.
    assert status == 200 or (await api.http.post(GENERATE, json={"prompt": prompt})).json()["error"] == (
        "generation_failed"
    )


async def test_the_longest_prompt_is_taken_and_white_space_around_it_changes_nothing(api: Api) -> None:
    longest = ("- Check the door of the cold room\n" * 200)[:4000]
    assert len(longest) == 4000
    shorter = longest[:3990].strip()
    assert await generated(api, longest)
    assert await generated(api, shorter) == await generated(api, f"\n  {shorter} \n")


@pytest.mark.parametrize("locale", ["", "EN", "it", "en-GB", "de,en"])
async def test_another_language_is_an_invalid_parameter(api: Api, locale: str) -> None:
    response = await api.http.post(GENERATE, json={"prompt": "Check doors"}, params={"locale": locale})
    assert (response.status_code, response.json()["error"]) == (400, "invalid_parameter")
    assert response.json()["details"][0]["path"] == "locale"


async def test_what_the_callers_program_speaks_changes_nothing(api: Api) -> None:
    spoken = await api.http.post(GENERATE, json={"prompt": PROMPTS["en"]}, headers={"Accept-Language": "de"})
    assert spoken.json() == await generated(api, PROMPTS["en"])
    assert "Vary" not in spoken.headers


async def test_a_manifest_of_the_command_line_is_the_same_template_in_the_cluster(
    api: Api, kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--format", "manifest", "--organization", api.organization, "--namespace", api.namespace)
    assert checklist_dispatch(["generate", PROMPTS["de"], *options]) == 0
    manifest = capsys.readouterr().out
    kubectl("apply", "-f", "-", stdin=manifest)
    assert kubectl("diff", "-f", "-", stdin=manifest) == "", "the cluster keeps it as it was written"
    kubectl("apply", "-f", "-", stdin=manifest)
    while not (listed := (await api.http.get("/v1/templates")).json()["data"]):
        await asyncio.sleep(0.05)
    complete = (await api.http.get(f"/v1/templates/{listed[0]['id']}")).json()
    made = await generated(api, PROMPTS["de"])
    assert {field: complete[field] for field in made} == made
    assert complete["v"] == 1


async def test_it_counts_against_the_rate_of_the_key(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RATE_LIMIT="1/min burst 2")
    answers = [await api.http.post(GENERATE, json={"prompt": "Check doors and windows"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["Retry-After"]) >= 1


async def with_model(start_api: StartApi, server: ModelServer, **settings: str) -> Api:
    given = {"URL": server.url, "NAME": "test-model", "KEY": "sk-0123456789abcdef"} | settings
    return await start_api(**{f"CHECKLISTS_MODEL_{name}": value for name, value in given.items()})


async def test_the_model_answers_where_one_is_set_up(start_api: StartApi) -> None:
    async with model_server(says(TEMPLATE)) as server:
        api = await with_model(start_api, server)
        response = await api.http.post(GENERATE, json={"prompt": "Cold room"}, params={"locale": "fr"})
    assert response.headers["X-Generated-By"] == "model"
    assert response.json()["name"] == TEMPLATE["name"]
    assert parse_definition(response.json(), strict=True)
    assert (await api.http.post("/v1/templates", json=response.json())).status_code == 201
    assert "French" in server.asked[0].said


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (fails("500 Internal Server Error"), "model_error"),
        (fails("401 Unauthorized"), "model_unauthorized"),
        (says("I am a teapot"), "model_nonsense"),
        (stays_silent, "model_timeout"),
    ],
)
async def test_the_composer_answers_when_the_model_does_not_and_says_so(
    start_api: StartApi, behaviour: Any, reason: str
) -> None:
    async with model_server(behaviour) as server:
        api = await with_model(start_api, server, TIMEOUT="1")
        response = await api.http.post(GENERATE, json={"prompt": PROMPTS["en"]})
    alone = await (await start_api()).http.post(GENERATE, json={"prompt": PROMPTS["en"]})
    assert response.headers["X-Generated-By"] == f"composer; reason={reason}"
    assert response.content == alone.content
    assert alone.headers["X-Generated-By"] == "composer"


async def test_without_a_fallback_the_models_failure_is_the_answer(start_api: StartApi) -> None:
    async with model_server(fails("500 Internal Server Error", b"stack trace of somebody")) as server:
        api = await with_model(start_api, server, FALLBACK="error")
        response = await api.http.post(GENERATE, json={"prompt": "Cold room"})
    assert (response.status_code, response.json()["error"]) == (502, "model_failed")
    assert [problem["code"] for problem in response.json()["details"]] == ["model_error"]
    assert "somebody" not in response.text


async def test_over_its_limit_an_organization_gets_the_composer_and_others_the_model(start_api: StartApi) -> None:
    async with model_server(says(TEMPLATE)) as server:
        api = await with_model(start_api, server, LIMIT="2/h")
        other = await api.make_account()
        said = [await api.http.post(GENERATE, json={"prompt": "Check doors"}) for _ in range(3)]
        theirs = await other.http.post(GENERATE, json={"prompt": "Check doors"})
    assert [answer.headers["X-Generated-By"] for answer in said] == ["model", "model", "composer; reason=model_limit"]
    assert theirs.headers["X-Generated-By"] == "model"


async def test_over_its_limit_and_without_a_fallback_it_is_told_when_to_come_again(start_api: StartApi) -> None:
    async with model_server(says(TEMPLATE)) as server:
        api = await with_model(start_api, server, LIMIT="1/day", FALLBACK="error")
        await generated(api, "Cold room")
        response = await api.http.post(GENERATE, json={"prompt": "Cold room"})
    assert (response.status_code, response.json()["error"]) == (429, "rate_limited")
    assert 1 <= int(response.headers["Retry-After"]) <= 86_400


async def test_what_was_generated_is_counted_by_who_made_it(start_api: StartApi) -> None:
    async with model_server(says(TEMPLATE), fails("403 Forbidden")) as server:
        api = await with_model(start_api, server)
        for _ in range(2):
            await generated(api, "Check doors")
    metrics = (await api.anonymous.get("/metrics")).text
    for line in (
        'checklists_templates_generated_total{by="model"} 1.0',
        'checklists_templates_generated_total{by="composer"} 1.0',
        'checklists_model_prompts_total{outcome="template"} 1.0',
        'checklists_model_prompts_total{outcome="model_unauthorized"} 1.0',
    ):
        assert line in metrics.splitlines()
