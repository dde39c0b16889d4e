"""A template from a server that behaves: what it is asked, what is made of its answer, and how it is corrected."""

import copy
import json
from typing import Any

import pytest
from tests.generation.conftest import KEY, StartModel
from tests.generation.model_server import TEMPLATE, Behaviour, completion, fails, raw, refuses, response, says

from checklist_api.generation.language_model.failures import Reason
from checklist_api.generation.language_model.schema import strict_schema
from checklist_api.settings.language_model import Prices
from checklist_crds.templates.validation import parse_definition


def without_label() -> dict[str, Any]:
    broken = copy.deepcopy(TEMPLATE)
    del broken["sections"][0]["steps"][0]["label"]
    return broken


async def test_a_valid_answer_is_the_template_with_ids_of_ours(model: StartModel) -> None:
    async with model(says(TEMPLATE)) as it:
        made = (await it.makes()).to_tdl()
    assert parse_definition(made, strict=True).to_tdl() == made
    steps = made["sections"][0]["steps"]
    assert [step["id"] for step in steps] == [
        "s-temperature-of-the-cold-room", "s-state-of-the-door-seal", "s-describe-the-damage",
    ]  # fmt: skip
    assert steps[0]["config"] == {"unit": "°C", "max": 5, "decimal": 1}
    assert steps[0]["photo"] == {"min": 1, "max": 2}
    assert steps[1]["config"]["options"][1] == {"id": "o-broken", "label": "Broken"}
    assert steps[2]["condition"] == {"when": {"step": "s-state-of-the-door-seal", "op": "eq", "value": "o-broken"}}
    assert made["settings"] == {"allow_skip": False, "signature_on_complete": True, "est_minutes": 5}


async def test_the_server_is_asked_for_structured_output_with_the_key_and_the_prompt(model: StartModel) -> None:
    async with model(says(TEMPLATE), max_tokens=1234) as it:
        await it.makes('Kühlraum "prüfen"', "de")
    (asked,) = it.server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body["model"] == "test-model"
    assert asked.body["max_tokens"] == 1234
    assert asked.body["stream"] is False
    described = asked.body["response_format"]["json_schema"]
    assert (described["strict"], described["schema"]) == (True, strict_schema(bounded=True))
    system, user = asked.body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert json.dumps('Kühlraum "prüfen"', ensure_ascii=False) in user["content"]
    assert "German" in user["content"]
    assert KEY not in asked.said
    async with model(says(TEMPLATE), key=None) as it:
        await it.makes()
    assert "authorization" not in it.server.asked[0].headers
    assert "If it tells no language" not in it.server.asked[0].said


PARTS = [{"type": "text", "text": json.dumps(TEMPLATE)[:50]}, {"type": "image"}, 5]
CALL = {"id": "1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "/etc/passwd"}'}}


@pytest.mark.parametrize(
    ("answer", "requests"),
    [
        (says(f"Here you are:\n```json\n{json.dumps(TEMPLATE)}\n```\nHave a nice day {{}}"), 1),
        (says(f"<think>They want {{a fridge}}</think>{json.dumps(TEMPLATE, indent=2)}"), 1),
        (says(json.dumps({"template": TEMPLATE})), 1),
        (says(json.dumps(TEMPLATE) + json.dumps(TEMPLATE)), 1),
        (raw(response(completion([*PARTS, {"type": "text", "text": json.dumps(TEMPLATE)[50:]}]))), 1),
        (says(None, finish="tool_calls", tool_calls=[CALL]), 2),
    ],
    ids=["fenced", "behind thoughts", "wrapped", "twice", "in parts", "behind a tool call that nothing offered"],
)
async def test_json_is_found_in_what_comes(model: StartModel, answer: Behaviour, requests: int) -> None:
    async with model(answer, says(TEMPLATE)) as it:
        assert (await it.makes()).name == "Cold room check"
    assert len(it.server.asked) == requests


async def test_faults_are_sent_back_with_the_last_answer_and_the_corrected_one_is_taken(model: StartModel) -> None:
    async with model(says("first"), says(without_label()), says(TEMPLATE)) as it:
        await it.makes()
    first, _, last = (asked.body["messages"] for asked in it.server.asked)
    assert last[:2] == first
    answer, reply = last[2:]
    assert json.loads(answer["content"]) == without_label()
    assert "sections[0].steps[0].label: label is required." in reply["content"]
    # After two corrections it is nonsense.
    async with model(says(without_label())) as it:
        assert await it.fails() is Reason.NONSENSE
    assert len(it.server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (json.dumps(TEMPLATE)[:-20], "no complete JSON object"),
        ('{"a":' * 50_000, "no complete JSON object"),
        (json.dumps(TEMPLATE)[:200], "shorter"),
        ({"name": "x", "sections": []}, "no steps"),
        ({"sections": TEMPLATE["sections"]}, "name is required"),
    ],
)
async def test_any_other_output_is_sent_back_with_the_reason(model: StartModel, answer: Any, reason: str) -> None:
    finish = "length" if reason == "shorter" else "stop"
    async with model(says(answer, finish=finish), says(TEMPLATE)) as it:
        await it.makes()
    assert reason in it.server.asked[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    "refusal",
    [
        refuses("response_format"),
        fails("422 Unprocessable Entity", b"<html>what?</html>"),
        fails("500 Internal Server Error", b'{"error": {"message": "failed to parse grammar"}}'),
        fails("400 Bad Request", b"\xff\xfe"),
    ],
)
async def test_refused_parameters_are_left_out_and_remembered(model: StartModel, refusal: Any) -> None:
    plain, bounded = strict_schema(bounded=False), strict_schema(bounded=True)
    forms: list[Any] = [bounded, plain, "json_object", None]
    for refused in (1, 2, 3):
        async with model(*[refusal] * refused, says(TEMPLATE)) as it:
            await it.makes()
            await it.makes()
        asked = [it.server.asked[n].schema or it.server.asked[n].form for n in range(refused + 2)]
        assert asked == [*forms[: refused + 1], forms[refused]]


async def test_other_names_and_missing_parameters_are_found_out(model: StartModel) -> None:
    async with model(refuses("max_tokens"), refuses("temperature"), says(TEMPLATE)) as it:
        await it.makes()
        await it.makes()
    first, _, third, fourth = (asked.body for asked in it.server.asked)
    assert "max_tokens" in first
    assert "temperature" in first
    for body in (third, fourth):
        assert body["max_completion_tokens"] == 8192
        assert not {"max_tokens", "temperature"} & set(body)
        assert body["response_format"]["type"] == "json_schema"


async def test_after_an_hour_a_server_is_asked_for_everything_again(model: StartModel) -> None:
    now = [0.0]
    async with model(refuses("response_format"), says(TEMPLATE), monotonic=lambda: now[0]) as it:
        await it.makes()
        now[0] += 3_601
        await it.makes()
    asked = [asked.schema == strict_schema(bounded=True) for asked in it.server.asked]
    assert asked == [True, False, True]


async def test_a_server_that_refuses_everything_is_an_error_and_nothing_is_learned_of_it(model: StartModel) -> None:
    async with model(*[fails("400 Bad Request")] * 4, says(TEMPLATE)) as it:
        assert await it.fails() is Reason.ERROR
        await it.makes()
    forms = ["json_schema", "json_schema", "json_object", None, "json_schema"]
    assert [asked.form for asked in it.server.asked] == forms


async def test_tokens_and_their_cost_are_counted(model: StartModel) -> None:
    async with model(says("?"), says(TEMPLATE), prices=Prices(1.0, 10.0)) as it:
        await it.makes()
    assert it.counted("checklists_model_tokens_total", kind="sent") == 1_800
    assert it.counted("checklists_model_tokens_total", kind="written") == 600
    assert it.counted("checklists_model_cost_total") == pytest.approx(0.0078)
    assert it.counted("checklists_model_prompts_total", outcome="template") == 1
    assert it.counted("checklists_model_prompt_seconds_count") == 1
