"""Exports: the runs of a filter as CSV, JSON lines and GeoJSON."""

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.contract.conftest import Api, shared_api
from tests.contract.dashboard_client import at_desk
from tests.contract.executor_client import answered, checklist, error_of, paths, step

from checklist_api.archive.incomplete import Incomplete
from checklist_api.runs.access import RunAccess
from checklist_crds.errors import RunNotFound
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.resources.kinds import RUN, TEMPLATE_REVISION
from checklist_crds.resources.run import Run
from checklist_crds.runs.commands import AnswerStep, Cancel
from checklist_crds.times import format_timestamp, utc_now
from checklist_crds.values.csv_cells import csv_row, escape_formulas

api = shared_api

Json = dict[str, Any]


async def exported(api: Api, **query: str) -> httpx.Response:
    response = await api.http.get("/v1/exports", params=query)
    assert response.status_code == 200, response.text
    return response


async def table(api: Api, **query: str) -> list[Json]:
    return rows_of(await exported(api, format="csv", **query))


def rows_of(response: httpx.Response) -> list[Json]:
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))


async def lines(api: Api, **query: str) -> list[Json]:
    return [json.loads(line) for line in (await exported(api, format="jsonl", **query)).text.splitlines()]


async def test_a_row_for_each_answered_and_skipped_step_has_labels_and_ids(api: Api) -> None:
    person = await answered(api)
    response = await exported(api, format="csv")
    rows = rows_of(response)
    names = ["clean", "temp", "mood", "note", "where", "shelf", "later"]
    assert [row["step_id"] for row in rows] == [f"s-{name}" for name in names]
    by_step = {row["step_id"]: row for row in rows}
    [common] = {(row["run_id"], row["status"], row["executor"], row["section"]) for row in rows}
    assert common == (person.run_id, "completed", "Zoë Ångström", "All")
    clean, temp, mood, where = (by_step[f"s-{name}"] for name in ("clean", "temp", "mood", "where"))
    assert (clean["step"], clean["answer"], clean["value"]) == ("Is it clean?", "Dirty", "false")
    assert (temp["answer"], temp["number"], temp["unit"]) == ("'-18.5 °C", "-18.5", "°C")
    assert (mood["answer"], mood["value"]) == ("Good, really", '"o-good"')
    assert by_step["s-note"]["answer"] == 'a "b"\n, c'
    assert (where["latitude"], where["longitude"], where["accuracy_m"]) == ("-33.8568", "151.2153", "8.5")
    assert (by_step["s-later"]["state"], by_step["s-later"]["answer"]) == ("skipped", "")
    assert (rows[0]["signed_by"], rows[0]["reference"]) == ("Zoë Å.", "'=order 7")
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert rows[0]["completed_utc"] == run["completed_at"][:19].replace("T", " ")

    # As RFC 4180 has it, with a mark of its encoding unless the query says otherwise.
    assert response.content.startswith(b"\xef\xbb\xbfrun_id,status,")
    assert response.content.endswith(b"\r\n")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert response.headers["Export-Runs"] == "1"
    day = utc_now().date().isoformat()
    assert response.headers["Content-Disposition"] == f'attachment; filename="runs-{day}.csv"'
    assert (await exported(api, format="csv", bom="false")).content == response.content[3:]

    # Where the checklist was deleted by hand, ids are all there is.
    for revision in await api.all_of(TEMPLATE_REVISION):
        await api.kube.delete(TEMPLATE_REVISION, revision["metadata"]["name"], api.namespace)
        api.services.revisions.forget(api.namespace, revision["metadata"]["name"])
    bare = {row["step_id"]: row for row in await table(api)}
    assert (bare["s-temp"]["run_id"], bare["s-temp"]["step"], bare["s-temp"]["answer"]) == (
        person.run_id,
        "s-temp",
        "-18.5",
    )
    assert bare["s-later"]["state"] == "skipped"


async def test_addresses_of_photos_stay_valid_for_the_key_or_member_they_were_made_for(api: Api) -> None:
    person, desk, other = await answered(api), await at_desk(api, "viewer"), await api.make_account()
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
        assert error_of(await other.http.get(path)) == (404, "run_not_found")
    unknown = await api.http.get(f"/v1/runs/{person.run_id}/photos/b0f4c1de-6f5f-5c0a-8b58-0b8f0e2d6c55")
    assert error_of(unknown) == (404, "not_found")

    members = {row["step_id"]: row for row in rows_of(await desk.get("/exports?format=csv"))}
    path = members["s-shelf"]["photos"].removeprefix("https://checklists.example")
    assert path.startswith(f"/dashboard/api/{desk.person.organization_id}/runs/{person.run_id}/photos/")
    found = await desk.http.get(path, headers=desk.headers)
    assert found.status_code == 302
    assert (await person.fetch(found.headers["Location"])).status_code == 200


def test_nothing_that_a_person_wrote_is_computed() -> None:
    formulas = ("=1+1", "+49 30 1", "-2 +cmd", "@SUM(A1)", "  =1", "＝1")
    assert escape_formulas("\t=1") == "'\t'=1"
    assert [escape_formulas(text) for text in formulas] == [f"'{text}" for text in formulas]
    for text in ("-18.5", "a=b", "", "a; b\n-4.5\t7", "one, -two", "5 | 6"):
        assert escape_formulas(text) == text
    row = csv_row(['say "hi", \r\nthere', None, 1.5, " padded"]).decode()
    assert row == '"say ""hi"", \r\nthere",,1.5," padded"\r\n'
    # Where a semicolon or a tab divides cells, and a quote that began one for us is a text's for the spreadsheet.
    for before in ("a;", "a;;", "a\t", "a\n", "a\r\n", "a; ", 'a;"', 'a;" "', "a\u2028"):
        for formula in ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "＝1"):
            for divided in re.split("[;\t]", csv_row([before + formula]).decode()):
                for cell in divided.splitlines():
                    assert not re.match(r'[\s"]*[=+\-@＝]', cell), (before, formula)


async def test_one_row_for_each_run_has_the_steps_of_all_versions_as_columns(api: Api) -> None:
    old, temp = step("old", "text"), step("temp", "number", label="Fridge", config={"unit": "°C"})
    template = await api.account.create_template(**checklist(old, temp))
    first = await api.account.dispatch(template["id"])
    changed = step("shelf", "photo", label="Shelf", geo=True)
    now = checklist({**temp, "label": "Cooler"}, changed)
    patched = await api.http.patch(f"/v1/templates/{template['id']}", json=now)
    assert patched.status_code == 200
    second = await api.account.dispatch(template["id"])
    await api.account.new_run()  # of another template
    for run_id, name, value in ((first["run_id"], "old", "=x"), (second["run_id"], "temp", 4.5)):
        await api.does(run_id, AnswerStep(step_id=f"s-{name}", value=value))
    rows = await table(api, rows="runs", template_id=template["id"])
    assert [row["run_id"] for row in rows] == [second["run_id"], first["run_id"]]
    assert list(rows[0])[-6:] == [
        "Cooler (°C) [s-temp]",
        "Shelf: photos [s-shelf]",
        "Shelf: latitude [s-shelf]",
        "Shelf: longitude [s-shelf]",
        "Old [s-old]",
        "flagged",
    ]
    assert [row["Cooler (°C) [s-temp]"] for row in rows] == ["4.5", ""]
    assert [row["Old [s-old]"] for row in rows] == ["", "'=x"]


async def test_json_lines_are_runs_as_get_gives_them_and_geojson_has_a_point_for_each_place(api: Api) -> None:
    assert (await exported(api, format="geojson")).json() == {"type": "FeatureCollection", "features": []}
    person = await answered(api)
    [line] = await lines(api)
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()

    def without_addresses(value: Any) -> Any:
        if isinstance(value, dict):
            left_out = ["url", "thumbnail_url"]
            if value.get("received_at") == value.get("at"):
                left_out.append("received_at")
            left_out += [name for name in ("flagged", "note") if not value.get(name)]
            return {k: without_addresses(v) for k, v in value.items() if k not in left_out}
        return [without_addresses(one) for one in value] if isinstance(value, list) else value

    fields = {name: value for name, value in line.items() if name not in ("sections", "people")}
    assert without_addresses(fields) == without_addresses(run)
    photo = line["answers"]["s-shelf"]["photos"][0]
    assert photo["url"].startswith(f"https://checklists.example/v1/runs/{person.run_id}/photos/")
    [section] = line["sections"]
    fridge = {"id": "s-temp", "type": "number", "label": "Fridge", "required": False, "unit": "°C"}
    assert section["steps"][1] == {**fridge, "state": "answered", "display": "-18.5 °C"}
    assert [one["state"] for one in section["steps"]] == ["answered"] * 6 + ["skipped"]

    response = await exported(api, format="geojson")
    assert response.headers["Content-Type"] == "application/geo+json"
    collection = response.json()
    assert collection["type"] == "FeatureCollection"
    [feature] = collection["features"]
    assert feature["geometry"] == {"type": "Point", "coordinates": [151.2153, -33.8568]}
    place = {name: feature["properties"][name] for name in ("run_id", "step", "accuracy_m")}
    assert place == {"run_id": person.run_id, "step": "Where", "accuracy_m": 8.5}


async def test_the_filters_are_those_of_the_list_and_of_the_organization(api: Api) -> None:
    template = await api.account.create_template()
    await api.account.dispatch(template["id"], executor_ref="a")
    two = await api.account.dispatch(template["id"], executor_ref="b")
    other = await api.account.new_run()
    await api.http.post(f"/v1/runs/{two['run_id']}/cancel")
    an_hour_ago = format_timestamp(utc_now() - timedelta(hours=1))
    queries: list[dict[str, str]] = [
        {},
        *({"status": status} for status in ("cancelled", "pending")),
        {"template_id": template["id"]},
        {"executor_ref": "a"},
        *({name: an_hour_ago} for name in ("created_after", "created_before")),
    ]
    for query in queries:
        listed = [run["run_id"] for run in (await api.http.get("/v1/runs", params=query)).json()["data"]]
        assert [run["run_id"] for run in await lines(api, **query)] == listed
    # A run without answers has one row.
    [row] = [row for row in await table(api) if row["run_id"] == other]
    assert (row["status"], row["step_id"], row["answer"]) == ("pending", "", "")
    head = await api.http.head("/v1/exports", params={"format": "jsonl"})
    assert (head.status_code, head.content, head.headers["Export-Runs"]) == (200, b"", "3")
    stranger = await api.make_account()
    assert (await stranger.http.get("/v1/exports", params={"format": "jsonl"})).text == ""
    assert error_of(await api.anonymous.get("/v1/exports?format=jsonl")) == (401, "unauthorized")


async def test_a_wrong_query_is_refused_before_anything_is_sent(api: Api) -> None:
    for about, query in (
        ("format", {}),
        ("format", {"format": "xlsx"}),
        ("status", {"format": "csv", "status": "done"}),
        ("created_after", {"format": "csv", "created_after": "yesterday"}),
        ("rows", {"format": "csv", "rows": "steps"}),
        ("rows", {"format": "jsonl", "rows": "runs"}),
        ("template_id", {"format": "csv", "rows": "runs"}),
        ("bom", {"format": "geojson", "bom": "true"}),
    ):
        assert (await api.http.head("/v1/exports", params=query)).status_code == 400
        response = await api.http.get("/v1/exports", params=query)
        assert (error_of(response), paths(response)) == ((400, "invalid_parameter"), [about])


async def test_every_run_is_exported_once_while_others_come_and_go(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small pages the walk has to begin again often. Runs of one moment: tests/unit/archive/test_index.py."""
    monkeypatch.setattr("checklist_api.exports.run_source.PAGE", 3)
    template = await api.account.create_template()
    made = [(await api.account.dispatch(template["id"]))["run_id"] for _ in range(10)]
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


async def test_deleted_runs_and_failures_during_an_export(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checklist_api.exports.run_source.AT_ONCE", 1)
    first, *others = [await api.account.new_run() for _ in range(3)]
    read = RunAccess.of_organization
    asked = 0

    async def meanwhile(self: RunAccess, run_id: str, organization: Any) -> Run:
        nonlocal asked
        asked += 1
        if asked == 1:
            await api.does(first, Cancel(reason=None))
        if asked == 2:
            raise RunNotFound()
        if asked > 5:
            raise KubeUnavailable("gone away")
        return await read(self, run_id, organization)

    monkeypatch.setattr(RunAccess, "of_organization", meanwhile)
    assert [run["run_id"] for run in await lines(api, status="pending")] == others[1:]
    with pytest.raises(httpx.RemoteProtocolError):
        await api.http.get("/v1/exports", params={"format": "csv"})
    response = await api.http.get("/v1/exports", params={"format": "csv"})
    assert error_of(response) == (503, "service_unavailable")
    assert "Content-Disposition" not in response.headers


async def test_export_limits_and_missing_archive(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    query = {"format": "csv"}
    slots, other = api.services.export_slots, await api.make_account()
    with slots.taken(api.organization), slots.taken(api.organization):
        response = await api.http.get("/v1/exports", params=query)
        assert (error_of(response), int(response.headers["Retry-After"]) >= 1) == ((429, "rate_limited"), True)
        assert (await other.http.get("/v1/exports", params=query)).status_code == 200
    assert (await api.http.get("/v1/exports", params=query)).status_code == 200
    for why, status in (("loading", 503), ("unavailable", 503), ("damaged", 200)):
        monkeypatch.setattr(type(api.services.archived), "incomplete", lambda *_, why=why: Incomplete(why))
        response = await api.http.get("/v1/exports", params=query)
        assert response.status_code == status
        assert response.headers.get("Export-Incomplete") == ("damaged" if status == 200 else None)
        assert ("Retry-After" in response.headers) == (status == 503)
