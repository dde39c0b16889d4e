"""Unseen batches: how their files are read, and how verdicts on them are counted."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.generation.model_server import Asked, Writer, fails, model_server, says

from checklist_composer.composing import NothingToCompose
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition
from checklist_dev.evaluation.batches import load_batches, numbers
from checklist_dev.evaluation.curve import failures, families, judged, main, report, shown, table
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
        (HEAD % f"{DOOR}, {DOOR}", "is a duplicate"),
        (HEAD % "{say: x, type: tick}", "no type tick"),
        (HEAD % "{say: x, type: one}", "options are missing"),
        (HEAD % "{say: x, type: yes, colour: red}", "items.0.colour: Extra inputs"),
        (HEAD % DOOR * 2, "duplicate id A-en-01"),
        (HEAD % "", "a checklist has items"),
        (NOTHING.replace("[]", f"[{DOOR}]"), "other prompts have none"),
        (HEAD.replace("plain", "odd") % DOOR, "neither plain nor messy"),
        ("- x", "prompt 1"),
        ("a: b", "must be a list"),
        ("[", "batch-A.yaml"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "batch-A.yaml").write_text(text)
    with pytest.raises(Failure, match=fault) as failure:
        load_batches(tmp_path)
    assert "\n" not in str(failure.value)


def test_a_folder_without_batches_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no batch"):
        load_batches(tmp_path)


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


async def test_a_model_is_judged_by_the_same_table_and_its_fallback_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
