"""Evaluation of the composer: batches, and the regression."""

import asyncio
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from tests.generation.model_server import Asked, Writer, fails, model_server, says

from checklist_composer.composing import Composition, NothingToCompose, compose
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition
from checklist_dev.evaluation.batches import load_batches, numbers
from checklist_dev.evaluation.cases import Case, load_cases
from checklist_dev.evaluation.curve import failures, families, judged, main, report, shown, table
from checklist_dev.evaluation.report import LANGUAGE_FLOORS, OVERALL_FLOOR, Verdict, details
from checklist_dev.evaluation.scoring import Score, score_case
from checklist_dev.failures import Failure

HEAD = "- {id: A-en-01, lang: en, trade: t, class: plain, checklist: true, prompt: Door tight?, items: [%s]}\n"
NOTHING = "- {id: A-en-02, lang: en, trade: t, class: messy, checklist: false, prompt: A poem, why: '', items: []}\n"
DOOR = "{say: door tight, type: yes}"
SEAL = "{say: seal, type: text, when: %s, each: [1, 02]}"


@pytest.mark.parametrize("when", ["[door tight, no]", "[[door tight, no]]", "[door tight, false]"])
def test_answers_are_read_as_their_authors_wrote_them(when: str, tmp_path: Path) -> None:
    (tmp_path / "batch-A.yaml").write_text(HEAD % f"{DOOR}, {SEAL % when}" + NOTHING)
    (batch,) = load_batches(tmp_path)
    door, seal = batch.prompts[0].items
    assert (batch.letter, door.kinds, seal.each) == ("A", ("yes",), ["1", "02"])
    assert [(each.say, each.answer) for each in seal.triggers] == [("door tight", "no")]
    assert (batch.prompts[1].why, batch.prompts[1].items) == (None, [])
    assert numbers("2-8, −18 and 0,5") == [2, 8, -18, 0.5]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD % (SEAL % "[door tight, no]"), "A-en-01: .*not the `say` of an earlier item"),
        (HEAD % "{say: x, type: yes, colour: red}", "items.0.colour: Extra inputs"),
        (HEAD % DOOR * 2, "duplicate id A-en-01"),
        (NOTHING.replace("[]", f"[{DOOR}]"), "other prompts have none"),
        (HEAD.replace("plain", "odd") % DOOR, "neither plain nor messy"),
        ("[", "batch-A.yaml"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "batch-A.yaml").write_text(text)
    with pytest.raises(Failure, match=fault) as failure:
        load_batches(tmp_path)
    assert "\n" not in str(failure.value)


def test_the_curve_counts_verdicts_refusals_and_errors(tmp_path: Path) -> None:
    (tmp_path / "batch-A.yaml").write_text(HEAD % DOOR + NOTHING)
    ((wanted, nothing),) = (batch.prompts for batch in load_batches(tmp_path))
    step = {"id": "s-door", "type": "boolean", "required": True, "label": "Door tight"}
    template = parse_definition({"name": "Door", "sections": [{"id": "g-a", "title": "All", "steps": [step]}]})

    def refuse(text: str) -> Definition:
        raise NothingToCompose(text)

    def broken(text: str) -> Definition:
        raise ZeroDivisionError

    tried = (("A", wanted, lambda text: template), ("A", wanted, refuse), ("A", nothing, refuse), ("B", wanted, broken))
    results = [judged(*each) for each in tried]
    lines = [line.split() for line in table(results)]
    assert ["all", "4", "2", "0", "0", "2", "50%", "1/1", "1/3"] in lines
    assert ["batch", "B", "1", "0", "0", "0", "1", "0%", "0/0", "0/1"] in lines
    assert ["no", "checklist", "1", "1", "0", "0", "0", "100%", "1/1", "0/0"] in lines
    assert ["broken", "1", "1"] in [line.split() for line in families(results)]
    assert sum("harmful" in line for line in failures(results)) == 2
    assert "Door tight?" in "\n".join(shown(results[0]))
    assert [each["refused"] for each in report(results)] == [False, True, True, False]


DOORS = {"id": "s-1", "type": "boolean", "required": True, "label": "Door tight?"}
DOOR_TEMPLATE = {"name": "Door", "sections": [{"id": "g-1", "title": "All", "steps": [DOORS]}]}


async def test_models_are_judged_apart_from_fallbacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "batch-A.yaml").write_text(HEAD % DOOR + (HEAD % DOOR).replace("en-01", "en-03") + NOTHING)
    (tmp_path / "key").write_text("sk-of-a-test-server")

    async def answer(asked: Asked, writer: Writer) -> None:
        assert asked.headers["authorization"] == "Bearer sk-of-a-test-server"
        await (says(DOOR_TEMPLATE) if "Door" in asked.said else fails("503 Oops"))(asked, writer)

    async with model_server(answer) as server:
        options = ["--folder", str(tmp_path), "--json", str(tmp_path / "out.json"), "--model-url", server.url]
        options += ["--model-name", "small", "--model-key-file", str(tmp_path / "key"), "--at-once", "2"]
        assert await asyncio.to_thread(main, options) == 0
    assert {asked.body["model"] for asked in server.asked} == {"small"}
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    own, fallback = (line for line in lines if line[:1] == ["all"])
    assert (own, fallback) == (
        ["all", "2", "2", "0", "0", "0", "100%", "0/0", "0/2"],
        ["all", "1", "1", "0", "0", "0", "100%", "1/1", "0/0"],
    )
    assert "The model gave 2 of 3 templates; the composer answered the others (model_error 1):" in printed.out
    assert "3/3 " in printed.err
    verdicts = json.loads((tmp_path / "out.json").read_text())
    assert [each["by"] for each in verdicts] == ["model", "model", "composer; reason=model_error"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            ["--model-url", "http://127.0.0.1:9/v1"],
            "http://127.0.0.1:9/v1 gives no template .model_unreachable.* running",
        ),
        (["--model-url", "models.example"], "must be an absolute http"),
        (["--model-url", "http://127.0.0.1:9/v1", "--model-key-file", "/no/such"], "/no/such cannot be read"),
    ],
)
def test_a_model_that_cannot_be_asked_is_reported_at_once(options: list[str], fault: str) -> None:
    with pytest.raises(Failure, match=fault):
        main(options)


CASES = load_cases()


def test_the_templates_have_what_a_person_would_expect_in_every_language() -> None:
    verdict = Verdict([score_case(case, compose) for case in CASES])
    worst = details(sorted(verdict.scores, key=lambda score: score.value)[:12])
    print(f"{verdict.overall:.1%} of {len(CASES)} prompts")
    assert verdict.overall >= OVERALL_FLOOR, worst
    for language, floor in LANGUAGE_FLOORS.items():
        values = [score.value for score in verdict.scores if score.case.language == language]
        assert len(values) >= 20
        assert sum(values) / len(values) >= floor, f"{language}: {sum(values) / len(values):.1%}"


STEPS = """
- {id: s-fridge, type: number, label: Fridge temperature, config: {unit: °C, max: 5}}
- {id: s-condition, type: choice, required: true, label: Condition of the door, config: {options: [
    {id: o-1, label: Good}, {id: o-2, label: Broken}]}}
- {id: s-boss, type: boolean, label: Call the boss, condition: {when: {step: s-condition, op: eq, value: o-2}}}
"""


def scored(expected: dict[str, Any], steps: str = STEPS, **fields: Any) -> Score:
    section = {"id": "g-hall", "title": "Hall", "steps": yaml.safe_load(steps)}
    composition = Composition(parse_definition({"name": "Door", "sections": [section]}), "en", ())
    case = {"id": "x", "trade": "any", "kind": "list", "prompt": "Doors", "steps": [expected], **fields}
    return score_case(Case.model_validate(case), lambda prompt, locale: composition)


FRIDGE = {"say": "FRIDGE temp|window", "type": "number", "unit": "°C", "max": 5, "min": "none", "when": []}
CLAIM = "[{id: s-a, type: boolean, label: Fridge is HACCP compliant}]"


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        (FRIDGE, []),
        ({"say": "condition", "options": ["broken", "good"], "required": True, "in": "hall"}, []),
        ({"say": "boss", "when": [["condition", "broken", "good"]]}, []),
        ({"say": "window"}, ["step 'window'"]),
        ({"say": "fridge", "max": 4}, ["'fridge': max 4.0"]),
        ({"say": "condition", "options": ["good"]}, ["'condition': options ['good']"]),
        ({"say": "boss", "when": []}, ["'boss': when always"]),
    ],
)
def test_what_is_there_is_found_and_what_is_not_is_missing(expected: dict[str, Any], missing: list[str]) -> None:
    score = scored(expected)
    assert score.missing == missing
    assert (score.value == 1) is (missing == [])


def test_what_was_not_asked_for_or_is_untidy_is_a_wrong_extra_and_no_template_is_nothing() -> None:
    assert scored(FRIDGE, count=(1, 2), never=["boss"]).extras == ["more than 2 steps", "'boss': 'Call the boss'"]
    assert len(scored({"say": "fridge"}, CLAIM).extras) == 2
    assert scored({"say": "fridge"}, CLAIM, prompt="Is the fridge HACCP compliant?").extras == []
    assert scored({"say": "fridge"}, "[{id: s-a, type: boolean, label: '- fridge and'}]").value < 1
    case = Case(id="x", trade="any", kind="list", prompt="Doors")
    assert score_case(case, Mock(side_effect=NothingToCompose("nothing"))).value == 0
