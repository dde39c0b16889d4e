"""Exports: the runs of a filter as CSV, JSON lines and GeoJSON."""

import asyncio
import csv
import io
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from checklist_api.archive.incomplete import Incomplete
from checklist_api.exports.csv_cells import csv_row, harmless
from checklist_api.run_access import RunAccess
from checklist_crds.errors import RunNotFound
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.kube.kinds import RUN, TEMPLATE_REVISION
from checklist_crds.run_types import Run
from checklist_crds.times import format_timestamp, utc_now

from .conftest import Api
from .dashboard_client import at_desk
from .executor_client import Person, error_of, person_for, step
from .pictures import drawing, picture

Json = dict[str, Any]
PLACE = {"lat": -33.8568, "lng": 151.2153, "accuracy_m": 8.5}


async def exported(api: Api, **query: str) -> httpx.Response:
    response = await api.http.get("/v1/exports", params=query)
    assert response.status_code == 200, response.text
    return response


async def table(api: Api, **query: str) -> list[Json]:
    response = await exported(api, format="csv", **query)
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))


async def lines(api: Api, **query: str) -> list[Json]:
    return [json.loads(line) for line in (await exported(api, format="jsonl", **query)).text.splitlines()]


async def answered(api: Api) -> Person:
    """A completed run with an answer of each interesting kind."""
    person = await person_for(
        api,
        step("clean", label="Is it clean?", config={"true_label": "Spotless", "false_label": "Dirty"}),
        step("temp", "number", label="Fridge", config={"unit": "°C", "decimal": 1}),
        step("mood", "choice", config={"options": [{"id": "o-good", "label": "Good, really"}]}),
        step("note", "text", config={"multiline": True}),
        step("where", geo=True),
        step("shelf", "photo"),
        step("later"),
        identity="external",
        dispatch={"executor_ref": "=order 7"},
        allow_skip=True,
        signature_on_complete=True,
    )
    await person.call("PUT", "/identity", json={"name": "Zoë Ångström", "email": "zoe@example.com"})
    for name, value in (("clean", False), ("temp", -18.5), ("mood", "o-good"), ("note", 'a "b"\n, c')):
        assert (await person.answer(name, value)).status_code == 200
    assert (await person.answer("where", True, geo=PLACE)).status_code == 200
    assert (await person.upload("shelf", picture(size=(800, 600)))).status_code == 201
    assert (await person.skip("later")).status_code == 200
    assert (await person.draw(drawing())).status_code == 200
    assert (await person.submit(signature={"name": "Zoë Å."})).status_code == 200
    return person


async def test_a_row_for_each_answered_and_skipped_step_says_labels_beside_ids(api: Api) -> None:
    person = await answered(api)
    rows = await table(api)
    assert [row["step_id"] for row in rows] == [
        f"s-{n}" for n in ["clean", "temp", "mood", "note", "where", "shelf", "later"]
    ]
    by_step = {row["step_id"]: row for row in rows}
    assert {(row["run_id"], row["status"], row["executor"]) for row in rows} == {
        (person.run_id, "completed", "Zoë Ångström")
    }
    assert by_step["s-clean"]["answer"] == "Dirty" and by_step["s-clean"]["value"] == "false"
    assert by_step["s-clean"]["step"] == "Is it clean?" and by_step["s-clean"]["section"] == "All"
    temp = by_step["s-temp"]
    assert (temp["answer"], temp["number"], temp["unit"]) == ("'-18.5 °C", "-18.5", "°C")
    assert by_step["s-mood"]["answer"] == "Good, really" and by_step["s-mood"]["value"] == '"o-good"'
    assert by_step["s-note"]["answer"] == 'a "b"\n, c'
    where = by_step["s-where"]
    assert (where["latitude"], where["longitude"], where["accuracy_m"]) == ("-33.8568", "151.2153", "8.5")
    assert by_step["s-later"]["state"] == "skipped" and by_step["s-later"]["answer"] == ""
    assert rows[0]["signed_by"] == "Zoë Å." and rows[0]["reference"] == "'=order 7"
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert rows[0]["completed_utc"] == run["completed_at"][:19].replace("T", " ")


async def test_addresses_of_photos_in_an_export_stay_valid_and_ask_for_the_key(api: Api) -> None:
    person = await answered(api)
    rows = {row["step_id"]: row for row in await table(api)}
    for url in (rows["s-shelf"]["photos"], rows["s-clean"]["signature_image"]):
        path = url.removeprefix("https://checklists.example")
        assert path.startswith(f"/v1/runs/{person.run_id}/photos/")
        assert (await api.anonymous.get(path)).status_code == 401
        found = await api.http.get(path)
        assert found.status_code == 302
        image = await person.fetch(found.headers["Location"])
        assert image.status_code == 200 and image.headers["Content-Type"].startswith("image/")
        thumbnail = await api.http.get(f"{path}/thumbnail")
        assert (await person.fetch(thumbnail.headers["Location"])).status_code == 200
        other = await api.make_account()
        assert error_of(await other.http.get(path)) == (404, "run_not_found")
    unknown = await api.http.get(f"/v1/runs/{person.run_id}/photos/b0f4c1de-6f5f-5c0a-8b58-0b8f0e2d6c55")
    assert error_of(unknown) == (404, "not_found")


async def test_a_run_without_answers_has_one_row(api: Api) -> None:
    run_id = await api.account.new_run()
    [row] = await table(api)
    assert (row["run_id"], row["status"], row["step_id"], row["answer"]) == (run_id, "pending", "", "")


async def test_csv_is_as_rfc_4180_has_it_with_a_mark_of_its_encoding_unless_told(api: Api) -> None:
    await answered(api)
    response = await exported(api, format="csv")
    assert response.content.startswith(b"\xef\xbb\xbfrun_id,status,")
    assert response.content.endswith(b"\r\n")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert response.headers["Export-Runs"] == "1"
    day = utc_now().date().isoformat()
    assert response.headers["Content-Disposition"] == f'attachment; filename="runs-{day}.csv"'
    plain = await exported(api, format="csv", bom="false")
    assert plain.content == response.content[3:]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30 1", "'+49 30 1"),
        ("-2 +cmd", "'-2 +cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("＝1", "'＝1"),
        ("-18.5", "-18.5"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_nothing_that_a_person_wrote_is_computed(text: str, cell: str) -> None:
    assert harmless(text) == cell


def test_cells_with_commas_quotes_and_line_ends_are_quoted() -> None:
    row = csv_row(['say "hi", \r\nthere', None, 1.5, " padded"]).decode()
    assert row == '"say ""hi"", \r\nthere",,1.5," padded"\r\n'


async def test_one_row_for_each_run_has_the_steps_of_all_versions_as_columns(api: Api) -> None:
    def steps(*made: Json) -> Json:
        return {"sections": [{"id": "g-all", "title": "All", "steps": list(made)}], "settings": {"allow_skip": True}}

    old, temp = step("old", "text"), step("temp", "number", label="Fridge", config={"unit": "°C"})
    template = await api.account.create_template(**steps(old, temp))
    first = await api.account.dispatch(template["id"])
    changed = step("shelf", "photo", label="Shelf", geo=True)
    patched = await api.http.patch(f"/v1/templates/{template['id']}", json=steps({**temp, "label": "Cooler"}, changed))
    assert patched.status_code == 200
    second = await api.account.dispatch(template["id"])
    await api.account.new_run()  # of another template
    for run_id, name, value in ((first["run_id"], "old", "=x"), (second["run_id"], "temp", 4.5)):
        await change(api, run_id, name, value)
    rows = await table(api, rows="runs", template_id=template["id"])
    assert [row["run_id"] for row in rows] == [second["run_id"], first["run_id"]]
    assert list(rows[0])[-5:] == [
        "Cooler (°C) [s-temp]",
        "Shelf: photos [s-shelf]",
        "Shelf: latitude [s-shelf]",
        "Shelf: longitude [s-shelf]",
        "Old [s-old]",
    ]
    assert [row["Cooler (°C) [s-temp]"] for row in rows] == ["4.5", ""]
    assert [row["Old [s-old]"] for row in rows] == ["", "'=x"]


async def change(api: Api, run_id: str, name: str, value: Any) -> None:
    from checklist_crds.run_lifecycle import AnswerStep

    run = await api.services.run_access.of_anybody(run_id)
    await api.services.run_access.change(run, AnswerStep(step_id=f"s-{name}", value=value))


async def test_a_json_line_is_the_run_as_get_gives_it_with_labels_and_lasting_addresses(api: Api) -> None:
    person = await answered(api)
    [line] = await lines(api)
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()

    def without_addresses(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without_addresses(v) for k, v in value.items() if k not in ("url", "thumbnail_url")}
        return [without_addresses(one) for one in value] if isinstance(value, list) else value

    told = {name: value for name, value in line.items() if name not in ("sections", "people")}
    assert without_addresses(told) == without_addresses(run)
    photo = line["answers"]["s-shelf"]["photos"][0]
    assert photo["url"].startswith(f"https://checklists.example/v1/runs/{person.run_id}/photos/")
    [section] = line["sections"]
    temp = next(one for one in section["steps"] if one["id"] == "s-temp")
    assert temp == {
        "id": "s-temp",
        "type": "number",
        "label": "Fridge",
        "required": False,
        "unit": "°C",
        "state": "answered",
        "display": "-18.5 °C",
    }
    assert [one["state"] for one in section["steps"]] == ["answered"] * 6 + ["skipped"]


async def test_geojson_has_a_point_for_each_located_answer_with_longitude_first(api: Api) -> None:
    person = await answered(api)
    await api.account.new_run()
    response = await exported(api, format="geojson")
    assert response.headers["Content-Type"] == "application/geo+json"
    collection = response.json()
    assert collection["type"] == "FeatureCollection"
    [feature] = collection["features"]
    assert feature["geometry"] == {"type": "Point", "coordinates": [151.2153, -33.8568]}
    assert feature["properties"]["run_id"] == person.run_id
    assert feature["properties"]["step"] == "Where" and feature["properties"]["accuracy_m"] == 8.5


async def test_geojson_without_any_place_is_an_empty_collection(api: Api) -> None:
    await api.account.new_run()
    assert (await exported(api, format="geojson")).json() == {"type": "FeatureCollection", "features": []}


async def test_the_filters_are_those_of_the_list(api: Api) -> None:
    template = await api.account.create_template()
    one = await api.account.dispatch(template["id"], executor_ref="a")
    two = await api.account.dispatch(template["id"], executor_ref="b")
    other = await api.account.new_run()
    await api.http.post(f"/v1/runs/{two['run_id']}/cancel")
    queries: list[dict[str, str]] = [
        {},
        {"status": "cancelled"},
        {"status": "pending"},
        {"template_id": template["id"]},
        {"executor_ref": "a"},
        {"created_after": format_timestamp(utc_now() - timedelta(hours=1))},
        {"created_before": format_timestamp(utc_now() - timedelta(hours=1))},
    ]
    assert {one["run_id"], two["run_id"], other}
    for query in queries:
        listed = [run["run_id"] for run in (await api.http.get("/v1/runs", params=query)).json()["data"]]
        assert [run["run_id"] for run in await lines(api, **query)] == listed


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ({}, "format"),
        ({"format": "xlsx"}, "format"),
        ({"format": "csv", "status": "done"}, "status"),
        ({"format": "csv", "created_after": "yesterday"}, "created_after"),
        ({"format": "csv", "rows": "steps"}, "rows"),
        ({"format": "jsonl", "rows": "runs"}, "rows"),
        ({"format": "csv", "rows": "runs"}, "template_id"),
        ({"format": "geojson", "bom": "true"}, "bom"),
    ],
)
async def test_a_wrong_query_is_refused_before_anything_is_sent(api: Api, query: Json, about: str) -> None:
    for method in ("GET", "HEAD"):
        response = await api.http.request(method, "/v1/exports", params=query)
        assert response.status_code == 400
    error = (await api.http.get("/v1/exports", params=query)).json()
    assert error["error"] == "invalid_parameter" and error["details"][0]["path"] == about


async def test_head_tells_how_many_runs_there_are_and_sends_none(api: Api) -> None:
    await api.account.new_run()
    response = await api.http.head("/v1/exports", params={"format": "jsonl"})
    assert response.status_code == 200 and response.content == b""
    assert response.headers["Export-Runs"] == "1"


async def test_nobody_exports_another_organizations_runs(api: Api) -> None:
    await api.account.new_run()
    other = await api.make_account()
    assert (await other.http.get("/v1/exports", params={"format": "jsonl"})).text == ""
    assert error_of(await api.anonymous.get("/v1/exports?format=jsonl")) == (401, "unauthorized")


async def test_every_run_is_exported_once_while_others_are_made_and_removed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many of one very moment, as a GitOps sync makes them, and small pages, so that the walk has to begin anew often.
    monkeypatch.setattr("checklist_api.exports.run_source.PAGE", 3)
    template = await api.account.create_template()
    made = [(await api.account.dispatch(template["id"]))["run_id"] for _ in range(10)]
    bodies = [await api.kube.get(RUN, run_id, api.namespace) for run_id in made]
    same = bodies[4]["spec"]["createdAt"]
    for body in bodies[4:9]:
        clone = {**body, "metadata": {"name": body["metadata"]["name"], "namespace": api.namespace}}
        clone["metadata"]["labels"] = body["metadata"]["labels"]
        clone["spec"] = {**body["spec"], "createdAt": same}
        await api.kube.delete(RUN, body["metadata"]["name"], api.namespace)
        await api.kube.create(RUN, clone, api.namespace)
    await settled(api, 10, same)
    read = RunAccess.of_organization
    seen = 0

    async def and_meanwhile(self: RunAccess, run_id: str, organization: Any) -> Run:
        nonlocal seen
        seen += 1
        if seen == 4:
            await api.account.dispatch(template["id"])
            await api.kube.delete(RUN, made[0], api.namespace)
        return await read(self, run_id, organization)

    monkeypatch.setattr(RunAccess, "of_organization", and_meanwhile)
    found = [run["run_id"] for run in await lines(api)]
    assert sorted(found) == sorted(made[1:])


async def settled(api: Api, count: int, same: str) -> None:
    """Until the index shows them all."""
    async with asyncio.timeout(10):
        while True:
            runs = (await api.http.get("/v1/runs")).json()["data"]
            if len(runs) == count and sum(run["created_at"] == same for run in runs) == 5:
                return
            await asyncio.sleep(0.05)


async def test_a_run_that_no_longer_fits_when_its_turn_comes_is_left_out(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await api.account.new_run()
    read = RunAccess.of_organization

    async def and_cancelled_before(self: RunAccess, wanted: str, organization: Any) -> Run:
        monkeypatch.undo()
        await api.http.post(f"/v1/runs/{run_id}/cancel")
        return await read(self, wanted, organization)

    monkeypatch.setattr(RunAccess, "of_organization", and_cancelled_before)
    assert await lines(api, status="pending") == []


async def test_an_export_that_fails_in_the_middle_does_not_look_whole(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checklist_api.exports.run_source.AT_ONCE", 1)
    for _ in range(3):
        await api.account.new_run()
    read, seen = RunAccess.of_organization, 0

    async def until_the_cluster_is_down(self: RunAccess, run_id: str, organization: Any) -> Run:
        nonlocal seen
        seen += 1
        if seen > 2:
            raise KubeUnavailable("gone away")
        return await read(self, run_id, organization)

    monkeypatch.setattr(RunAccess, "of_organization", until_the_cluster_is_down)
    with pytest.raises(httpx.RemoteProtocolError):
        await api.http.get("/v1/exports", params={"format": "csv"})


async def test_an_export_that_cannot_begin_is_a_plain_error(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.account.new_run()

    async def down(*_: Any) -> Run:
        raise KubeUnavailable("gone away")

    monkeypatch.setattr(RunAccess, "of_organization", down)
    response = await api.http.get("/v1/exports", params={"format": "csv"})
    assert error_of(response) == (503, "service_unavailable")
    assert "Content-Disposition" not in response.headers


async def test_two_exports_of_an_organization_go_at_once_and_the_third_is_told_to_wait(api: Api) -> None:
    await api.account.new_run()
    slots = api.services.export_slots
    with slots.taken(api.organization), slots.taken(api.organization):
        response = await api.http.get("/v1/exports", params={"format": "csv"})
        assert error_of(response) == (429, "rate_limited")
        assert int(response.headers["Retry-After"]) >= 1
        other = await api.make_account()
        assert (await other.http.get("/v1/exports", params={"format": "csv"})).status_code == 200
    assert (await api.http.get("/v1/exports", params={"format": "csv"})).status_code == 200


async def test_answers_of_a_run_whose_checklist_was_deleted_by_hand_are_exported_by_their_ids(api: Api) -> None:
    person = await answered(api)
    revisions, _ = await api.kube.list_all(TEMPLATE_REVISION, api.namespace)
    for revision in revisions:
        await api.kube.delete(TEMPLATE_REVISION, revision["metadata"]["name"], api.namespace)
        api.services.revisions.forget(api.namespace, revision["metadata"]["name"])
    rows = {row["step_id"]: row for row in await table(api)}
    assert rows["s-temp"]["run_id"] == person.run_id
    assert (rows["s-temp"]["step"], rows["s-temp"]["answer"]) == ("s-temp", "-18.5")
    assert rows["s-later"]["state"] == "skipped"


async def test_a_member_exports_what_a_key_does_with_addresses_that_open_in_the_browser(api: Api) -> None:
    person = await answered(api)
    desk = await at_desk(api, "viewer")
    response = await desk.get("/exports?format=csv")
    assert response.status_code == 200
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))
    url = next(row["photos"] for row in rows if row["step_id"] == "s-shelf")
    path = url.removeprefix("https://checklists.example")
    assert path.startswith(f"/dashboard/api/{desk.person.organization_id}/runs/{person.run_id}/photos/")
    found = await desk.http.get(path, headers=desk.headers)
    assert found.status_code == 302
    assert (await person.fetch(found.headers["Location"])).status_code == 200


async def test_a_run_removed_before_its_turn_is_no_error(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.account.new_run()

    async def gone(*_: Any) -> Run:
        raise RunNotFound()

    monkeypatch.setattr(RunAccess, "of_organization", gone)
    assert await lines(api) == []


@pytest.mark.parametrize(("why", "status"), [("loading", 503), ("unavailable", 503), ("damaged", 200)])
async def test_a_file_that_would_lack_the_archive_is_refused_and_one_that_always_will_says_so(
    api: Api, monkeypatch: pytest.MonkeyPatch, why: str, status: int
) -> None:
    await api.account.new_run()
    monkeypatch.setattr(type(api.services.archived), "incomplete", lambda *_: Incomplete(why))
    response = await api.http.get("/v1/exports", params={"format": "csv"})
    assert response.status_code == status
    assert response.headers.get("Export-Incomplete") == ("damaged" if status == 200 else None)
    assert ("Retry-After" in response.headers) == (status == 503)
