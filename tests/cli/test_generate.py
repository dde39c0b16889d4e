"""`checklist-dispatch generate`: what it prints can be created, applied and read again."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from tests.cli.conftest import Answer, Asked, Capture, Service

from checklist_cli.client import template_text
from checklist_cli.client.api_key import KEY_VARIABLE
from checklist_cli.program import main
from checklist_composer import composing
from checklist_composer.composing import NothingToCompose
from checklist_crds.resources.template import TemplateSpec
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition

PROMPT = "Checklist:\n- Doors locked\n- Windows closed\n- Fridge temperature in °C (max. 5 °C)\n- Photo of the bar"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


def printed(capsys: Capture, *arguments: str) -> str:
    assert main(["generate", *arguments]) == 0
    return capsys.readouterr().out


def test_it_prints_the_same_complete_tdl_as_json_as_yaml_and_as_a_manifest(capsys: Capture) -> None:
    text = printed(capsys, PROMPT)
    document = json.loads(text)
    assert parse_definition(document, strict=True).to_tdl() == document
    assert "id" not in document
    assert printed(capsys, PROMPT) == text
    assert parse_definition(yaml.safe_load(printed(capsys, PROMPT, "--format", "yaml"))).to_tdl() == document
    arguments = ("--format", "manifest", "--organization", "acme", "--namespace", "checklists", "--name", "doors")
    manifest = yaml.safe_load(printed(capsys, PROMPT, *arguments))
    spec = manifest.pop("spec")
    metadata = {"name": "doors", "namespace": "checklists"}
    assert manifest == {"apiVersion": "checklists.dev/v1", "kind": "Template", "metadata": metadata}
    assert TemplateSpec.model_validate(spec).organization_ref.name == "acme"
    assert "null" not in str(spec)
    assert parse_definition(spec).to_tdl() == document


def test_a_manifest_gets_its_name_from_the_templates() -> None:
    for title, name in (
        ("Van pre-trip check", "van-pre-trip-check"),
        ("Wohnungsübergabe Straße 7", "wohnungsubergabe-strasse-7"),
        ("  ***  ", "template"),
        ("温度", "template"),
        ("a" * 80, "a" * 63),
        ("x" * 62 + " y", "x" * 62),
    ):
        assert template_text.object_name(title) == name
        assert template_text.is_object_name(name)


@pytest.mark.parametrize("text", ["y", "no", "1e3", "0o7", "012", "1_000", "null", "~", "a: b", "# x", "12:30", "- x"])
def test_texts_stay_texts_for_every_reader_of_yaml(text: str) -> None:
    definition = definition_with(text)
    dumped = template_text.as_yaml(definition)
    assert parse_definition(yaml.safe_load(dumped)) == definition
    assert f"label: {text}\n" not in dumped, "plain, it would be a boolean, a number or nothing in YAML 1.1 or 1.2"


def test_what_could_move_a_cursor_is_escaped_and_means_the_same() -> None:
    definition = definition_with("a\x1b[2J\x9bb\u202e")
    shown = template_text.as_json(definition)
    assert "\\u001b[2J\\u009bb\\u202e" in shown
    assert parse_definition(json.loads(shown)) == definition
    assert "\x1b" not in template_text.as_yaml(definition)


def definition_with(label: str) -> Definition:
    step = {"id": "s-a", "type": "boolean", "label": label}
    return parse_definition({"name": "x", "sections": [{"id": "g-a", "title": "Title", "steps": [step]}]})


def test_it_works_as_a_program_in_a_pipe(capsys: Capture) -> None:
    program = Path(sys.executable).with_name("checklist-dispatch")
    prompt, given = "Checkliste:\n- Tür geschlossen\n- Boden sauber", {"PYTHONHASHSEED": "7"}
    done = subprocess.run([program, "generate", "-"], input=prompt.encode(), capture_output=True, check=True, env=given)
    assert (done.stdout.decode(), done.stderr) == (printed(capsys, prompt), b"")


def test_an_unusable_prompt_fails_with_the_reason(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        error = NothingToCompose("This job is unknown.")
        vars(error)["closest"] = ("Boat\x1b[2J check", "Car check")
        raise error

    monkeypatch.setattr(composing, "compose", refuse)
    assert main(["generate", PROMPT]) == 1
    said = "This job is unknown. Closest in the library: Boat�[2J check, Car check"
    assert capsys.readouterr() == ("", f"checklist-dispatch generate: {said}\n")


EXPLAINED = [
    ["step", "type", "sure", "words of the prompt"],
    ["s-a", "boolean", "93%", "a long door"],
    ["s-b", "text", "-", "-"],
    ["not used: hey \ufffd"],
]


def explained() -> dict[str, Any]:
    steps = [{"id": "s-a", "type": "boolean", "label": "A"}, {"id": "s-b", "type": "text", "label": "B"}]
    definition = parse_definition({"name": "x", "sections": [{"id": "g-a", "title": "T", "steps": steps}]})
    source = {"start": 4, "end": 15, "text": "a long\n door"}
    origins = [
        {"step_id": "s-a", "source": source, "confidence": 0.93},
        {"step_id": "s-b", "source": None, "confidence": None},
    ]
    return {"template": definition.to_tdl(), "steps": origins, "unused": [{"start": 0, "end": 4, "text": "hey \x1b"}]}


def test_the_source_of_each_step_is_printed_with_the_template(service: Service, capsys: Capture) -> None:
    service.answers = [Answer(json.dumps(explained()).encode(), headers={"X-Generated-By": "composer"})]
    assert main(["generate", PROMPT, "--server", service.url, "--key", "x", "--explain"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == explained()["template"]
    assert service.asked[0].query == {"explain": "true"}
    made_by, *lines = err.splitlines()
    assert made_by == "made by: composer"
    assert [re.split(r"  +", line) for line in lines if line] == EXPLAINED


def test_the_composer_here_tells_the_words_of_each_step(capsys: Capture) -> None:
    alone = printed(capsys, PROMPT)
    assert main(["generate", PROMPT, "--explain"]) == 0
    out, err = capsys.readouterr()
    assert out == alone
    _, *lines = (re.split(r"  +", line) for line in err.splitlines())
    assert [line[3] for line in lines if len(line) == 4][:2] == ["Doors locked", "Windows closed"]


def test_a_service_generates_with_the_key(service: Service, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "cds_live_of_the_test")
    made = json.dumps(definition_with("By the model").to_tdl()).encode()
    service.answers = [Answer(made, headers={"X-Generated-By": "model"})]
    assert main(["generate", PROMPT, "--server", f"{service.url}/", "--locale", "de"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["sections"][0]["steps"][0]["label"] == "By the model"
    assert err == "made by: model\n"
    key = "Bearer cds_live_of_the_test"
    assert service.asked == [Asked("/v1/templates/generate", {"locale": "de"}, key, {"prompt": PROMPT})]


CLOSEST = {"path": "prompt", "code": "closest_job", "message": "Boat check"}
REFUSED = json.dumps({"error": "generation_failed", "message": "No list.", "details": [CLOSEST]}).encode()


def test_another_answer_of_a_service_is_explained(service: Service, capsys: Capture) -> None:
    for answer, exit_status, why in (
        (Answer(b'{"error": "generation_failed", "message": "No\\u001b list."}', 422), 1, "generate: No� list.\n"),
        (Answer(REFUSED, 422), 1, "No list. Closest in the library: Boat check\n"),
        (Answer(b'{"error": "unauthorized", "message": "Wrong key.\\u001b[2J"}', 401), 2, "401: Wrong key."),
        (Answer(b"<html>", 502), 2, "answers 502: no readable message"),
        (Answer(b"<html>"), 2, "did not answer with a template"),
        (Answer(b'{"name": "x"}'), 2, "did not answer with a template"),
        (Answer(b"[]"), 2, "did not answer with a template"),
    ):
        service.answers = [answer]
        assert main(["generate", PROMPT, "--server", service.url, "--key", "x"]) == exit_status, why
        said = capsys.readouterr().err
        assert why in said
        assert "\x1b" not in said
