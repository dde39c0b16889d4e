"""Answers outside what a step expects: the run takes and marks them everywhere, and asks for what they need."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.contract.conftest import Api, shared_api
from tests.contract.dashboard_client import at_desk
from tests.contract.executor_client import Json, Person, error_of, person_for, step
from tests.contract.pictures import picture
from tests.contract.runs.test_exports import exported, lines, table
from tests.contract.runs.test_pdf import pdf_of, text_of

from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import PhotoRef, Run
from checklist_crds.runs.events import event_data

api = shared_api

DOOR = step("door", config={"expected": True, "on_flag": {"note": True}}, required=True)
TEMP = step(
    "temp",
    "number",
    geo=True,
    config={"min": -30, "unit": "°C", "expected": {"max": 7}, "on_flag": {"photos": {"min": 1, "max": 2}}},
)
PLACE = {"lat": 52.5, "lng": 13.4, "accuracy_m": 8.0}


def key_of(photo: PhotoRef, *, thumbnail: bool = False) -> str:
    return photo.key


def problems(response: Any) -> list[tuple[str, str]]:
    return [(problem["path"], problem["code"]) for problem in response.json()["details"]]


async def submitted(api: Api) -> Person:
    """A completed run with two flagged answers and one as expected."""
    person = await person_for(api, DOOR, TEMP, step("light", config={"expected": True}))
    assert (await person.answer("door", False, note="  It hangs.\n")).status_code == 200
    assert (await person.answer("temp", 9.5, geo=PLACE)).status_code == 200
    assert (await person.upload("temp", picture())).status_code == 201
    assert (await person.answer("light", True)).status_code == 200
    assert (await person.submit()).status_code == 200
    return person


async def test_an_answer_outside_is_taken_and_needs_its_note_and_photos_for_the_submit_only(api: Api) -> None:
    person = await person_for(api, DOOR, TEMP)
    answer = (await person.answer("door", False)).json()
    assert (answer["answer"]["flagged"], answer["answer"]["note"]) == (True, None)
    assert answer["progress"] == {"total": 2, "answered": 0, "skipped": 0}
    assert (await person.answer("temp", 9.5)).json()["answer"]["flagged"] is True
    state = await person.look()
    assert (state["flagged"], state["missing_steps"]) == (2, ["s-door", "s-temp"])
    refused = await person.submit()
    assert error_of(refused) == (422, "required_steps_missing")
    assert problems(refused) == [("s-door", "note_required"), ("s-temp", "photos_required")]
    assert "'Door'" in refused.json()["details"][0]["message"]

    assert (await person.answer("door", False, note="It hangs.")).json()["answer"]["note"] == "It hangs."
    assert problems(await person.submit()) == [("s-temp", "photos_required")]
    assert (await person.upload("temp", picture())).json()["answer"]["flagged"] is True
    assert (await person.look())["missing_steps"] == []
    assert (await person.submit()).json()["status"] == "completed"
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert (run["flagged"], run["answers"]["s-door"]["note"]) == (2, "It hangs.")


async def test_an_answer_as_expected_needs_nothing(api: Api) -> None:
    person = await person_for(api, DOOR, TEMP)
    await person.answer("door", False)
    answer = (await person.answer("door", True)).json()["answer"]
    assert (answer["flagged"], answer["note"]) == (False, None)
    await person.answer("temp", 7)
    assert (await person.look())["flagged"] == 0
    assert (await person.submit()).status_code == 200


@pytest.mark.parametrize("note", [5, "x" * 2_001, "a\0b", ["x"]])
async def test_a_note_that_cannot_be_kept_is_refused_with_its_path(api: Api, note: Any) -> None:
    person = await person_for(api, DOOR)
    refused = await person.answer("door", False, note=note)
    assert error_of(refused)[0] == 422
    assert [path for path, _ in problems(refused)] == ["note"]
    assert (await person.look())["answers"] == {}


async def test_a_queue_of_a_phone_carries_notes_and_the_day_of_the_person(api: Api) -> None:
    day = step("day", "date", config={"expected": {"not_before": 0, "not_after": 0}})
    person = await person_for(api, DOOR, day)
    now = (await person.look())["created_at"]
    east = now.replace("Z", "+00:00")
    queue: list[Json] = [
        {"type": "answer", "step_id": "s-door", "value": False, "note": "It hangs.", "op_id": "1"},
        {"type": "answer", "step_id": "s-day", "value": now[:10], "op_id": "2", "given_at": east},
        {"type": "submit", "op_id": "3"},
    ]
    door, on_day, _ = await person.results(*queue)
    assert (door["answer"]["note"], on_day["answer"]["flagged"]) == ("It hangs.", False)
    assert [result["replayed"] for result in await person.results(*queue)] == [True] * 3


async def test_flags_are_in_reads_lists_events_and_the_schema_of_the_answers(api: Api) -> None:
    person = await submitted(api)
    plain = await api.account.new_run()
    for query, found in (("true", [person.run_id]), ("false", [plain])):
        listed = (await api.http.get("/v1/runs", params={"flagged": query})).json()
        assert [run["run_id"] for run in listed["data"]] == found
        assert listed["pagination"]["total"] == 1
    [shown] = (await api.http.get("/v1/runs", params={"flagged": "true", "status": "completed"})).json()["data"]
    assert shown["flagged"] == 2
    overview = await (await at_desk(api, "viewer")).read("/overview")
    assert overview["runs"]["flagged"] == 1
    assert (await api.http.get("/v1/runs", params={"flagged": "true", "status": "pending"})).json()["data"] == []
    assert error_of(await api.http.get("/v1/runs", params={"flagged": "yes"})) == (400, "invalid_parameter")

    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    flags = {step_id: (answer["flagged"], answer["note"]) for step_id, answer in run["answers"].items()}
    assert flags == {"s-door": (True, "It hangs."), "s-temp": (True, None), "s-light": (False, None)}
    schema = (await api.http.get(f"/v1/runs/{person.run_id}/answer-schema")).json()
    validator = Draft202012Validator(schema)
    assert list(validator.iter_errors(run["answers"])) == []
    assert not validator.is_valid(run["answers"] | {"s-door": run["answers"]["s-door"] | {"note": None}})
    assert not validator.is_valid(run["answers"] | {"s-temp": run["answers"]["s-temp"] | {"photos": []}})


async def test_events_say_which_answers_are_flagged_and_how_many(api: Api) -> None:
    person = await submitted(api)
    run = Run.parse(await api.kube.get(RUN, person.run_id, api.namespace))
    definition = await api.services.run_access.definition(run)
    sent = [event_data(entry, run, definition, key_of) for entry in run.status.outbox]
    steps = {data["step_id"]: data for data in sent if "step_id" in data}
    said = {
        step_id: {name: data[name] for name in ("flagged", "note") if name in data} for step_id, data in steps.items()
    }
    assert said == {"s-door": {"flagged": True, "note": "It hangs."}, "s-temp": {"flagged": True}, "s-light": {}}
    assert (sent[-1]["flagged"], sent[-1]["answers"]["s-door"]["flagged"]) == (2, True)


async def test_exports_and_the_pdf_show_flags_and_notes(api: Api) -> None:
    person = await submitted(api)
    rows = {row["step_id"]: row for row in await table(api)}
    assert list(rows["s-door"])[-2:] == ["note", "flagged"]
    assert {name: (row["flagged"], row["note"]) for name, row in rows.items()} == {
        "s-door": ("true", "It hangs."),
        "s-temp": ("true", ""),
        "s-light": ("false", ""),
    }
    template = rows["s-door"]["template_id"]
    [of_run] = await table(api, rows="runs", template_id=template)
    assert (list(of_run)[-1], of_run["flagged"], of_run["Door: note [s-door]"]) == ("flagged", "2", "It hangs.")
    assert await table(api, flagged="false") == []
    [line] = await lines(api, flagged="true")
    assert (line["flagged"], line["answers"]["s-door"]["flagged"]) == (2, True)
    assert "flagged" not in line["answers"]["s-light"]
    [feature] = (await exported(api, format="geojson")).json()["features"]
    assert (feature["properties"]["flagged"], feature["properties"]["note"]) == (True, None)
    text = " ".join(text_of(await pdf_of(api.http, person.run_id)).split())
    for words in (
        "Not as expected 2 answers",
        "Not as expected (expected: Yes)",
        "Note: It hangs.",
        "Not as expected (expected: at most 7 °C)",
    ):
        assert words in text


async def test_documents_of_runs_without_flags_are_those_of_earlier_releases(api: Api) -> None:
    person = await person_for(api, step("light"), step("why", "text"))
    await person.answer("light", False)
    await person.submit()
    response = await api.http.get(f"/v1/runs/{person.run_id}/export", params={"format": "json"})
    document = response.json()
    assert "flagged" not in document
    assert {frozenset(answer) for answer in document["answers"].values()} == {
        frozenset({"value", "photos", "geo", "at", "by"})
    }
    assert "as expected" not in text_of(await pdf_of(api.http, person.run_id))


async def test_the_status_of_the_run_has_the_number_of_flagged_answers_while_there_are_some(api: Api) -> None:
    person = await person_for(api, DOOR)
    await person.answer("door", False)
    stored = await person.stored()
    assert (stored["flagged"], stored["answers"]["s-door"]["flagged"]) == (1, True)
    await person.answer("door", True)
    assert "flagged" not in json.dumps(await person.stored())


@pytest.mark.parametrize(
    ("config", "path", "code"),
    [
        ({"expected": {"min": 2, "max": 1}}, "config.expected.min", "out_of_range"),
        ({"expected": True}, "config.expected", "wrong_type"),
        ({"expected": "warm"}, "config.expected", "wrong_type"),
        ({"on_flag": {"note": True}}, "config.on_flag", "nothing_expected"),
    ],
)
async def test_a_wrong_expectation_is_refused_with_the_template(api: Api, config: Json, path: str, code: str) -> None:
    section = {"id": "g-1", "title": "All", "steps": [step("temp", "number", config=config)]}
    refused = await api.http.post("/v1/templates", json={"name": "Wrong", "sections": [section]})
    assert error_of(refused) == (422, "validation_failed")
    assert problems(refused) == [(f"sections[0].steps[0].{path}", code)]
