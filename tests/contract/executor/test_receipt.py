"""The receipt of a completed run: what is in it, what is not, who gets it, and that it leaves room for others."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pypdfium2
import pytest
from tests.contract.conftest import Api, shared_api
from tests.contract.dashboard_client import member_of
from tests.contract.executor_client import Person, answered, error_of, person_for, step
from tests.contract.pdf_reading import actual_texts, pictures, text_of
from tests.contract.pictures import picture
from tests.waiting import eventually, until_the_next_second

from checklist_api.exports.pdf.printer import PdfPrinter
from checklist_crds.ids import new_id

api = shared_api


async def receipt_of(person: Person, language: str = "en", **query: Any) -> httpx.Response:
    # On a busy machine the process that draws starts late.
    headers = {"Accept-Language": language} | query.pop("headers", {})
    return await person.call("GET", "/receipt", params=query, headers=headers, timeout=120)


async def submitted(api: Api) -> Person:
    person = await person_for(api, step("a"))
    assert (await person.submit()).status_code == 200
    return person


async def test_it_shows_what_was_submitted_and_nothing_of_the_owner(api: Api) -> None:
    hidden = step(
        "why", "text", label="Never asked", condition={"when": {"step": "s-clean", "op": "eq", "value": True}}
    )
    person = await answered(
        api, hidden, step("rules", "instruction", label="Read the rules"), step("open", label="Left")
    )
    response = await receipt_of(person, "en-GB", time_zone="Asia/Kolkata")
    assert response.status_code == 200, response.text
    receipt = (await person.look())["receipt"]
    day = receipt["completed_at"][:10]
    headers = response.headers
    assert (headers["Content-Type"], headers["Content-Language"]) == ("application/pdf", "en")
    assert headers["Cache-Control"] == "private, no-store"
    assert headers["Content-Disposition"].startswith(f'attachment; filename="receipt-{person.run_id[2:]}.pdf"; ')
    assert "filename*=UTF-8''Checklist%2020" in headers["Content-Disposition"]
    text = text_of(response.content)
    facts = ("Checklist", "From Ada Lovelace", "Receipt", "Zoë Ångström, zoe@example.com", person.run_id)
    steps = ("Is it clean?\nDirty", "Fridge\n-18.5 °C", "Mood\nGood, really", "Later\nSkipped", "Left\nNot answered")
    evidence = ("-33.856800, 151.215300", "Accurate to about 9 m", "Photo 1 of 1", "Signed by\nZoë Å.")
    numbers = (f"Answers {receipt['answers']}", "Photos 1", "(UTC+5:30)", receipt["digest"], "Page 1 of ")
    for said in (*facts, *steps, *evidence, *numbers):
        assert said in text, said
    assert len(pictures(response.content)) == 2  # the photo and the signature
    assert max(pictures(response.content)[0]) <= 320
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    owners = (run["executor_ref"], "hooks.example.com", "Test organization", api.organization, run["template_id"])
    metadata = str(pypdfium2.PdfDocument(response.content).get_metadata_dict())
    for secret in (*owners, person.token, api.account.key, "Never asked", "Read the rules", "Dispatched", "https://"):
        assert secret not in text + metadata, secret
        assert secret.encode() not in response.content, secret

    head = await person.call("HEAD", "/receipt")
    assert (head.status_code, head.headers["Content-Type"], head.content) == (200, "application/pdf", b"")
    # The same run gives the same bytes, and a zone that this machine does not know is UTC.
    await until_the_next_second()
    unknown, utc = [await receipt_of(person, time_zone=zone) for zone in ("Mars/Olympus", "Etc/UTC")]
    assert unknown.content == utc.content
    assert f"{int(day[-2:])} " in text_of(utc.content) and "(UTC)" in text_of(utc.content)


async def test_it_has_flags_and_notes_in_the_language_of_the_request(api: Api) -> None:
    door = {"expected": True, "on_flag": {"note": True}, "true_label": "Shut"}
    person = await person_for(
        api,
        step("temp", "number", label="Fridge", config={"expected": {"min": 2, "max": 8}, "unit": "°C", "decimal": 1}),
        step("door", config=door, label="Door"),
        step("shelf", "photo", config={"max": 5}),
        step("day", "date"),
        signature_on_complete=True,
    )
    assert (await person.answer("temp", 1234.5)).status_code == 200
    assert (await person.answer("door", False, note="Die Tür klemmt.")).status_code == 200
    assert (await person.answer("day", "2026-02-01")).status_code == 200
    for _ in range(5):
        assert (await person.upload("shelf", picture(size=(900, 1200)))).status_code == 201
    assert (await person.submit(signature={"name": "Ada"})).status_code == 200
    expected = {
        "de": ("Beleg", "1.234,5 °C", "Nicht wie erwartet. Erwartet: 2,0 °C bis 8,0 °C", "Nein", "01.02.2026"),
        "es": ("Comprobante", "1234,5 °C", "Se espera: Shut", "Nota: Die Tür klemmt.", "Página 1 de"),
        "fr": ("Reçu", "1\u202f234,5 °C", "Attendu : Shut", "Photo 5 sur 5", "Signé par\nAda"),
    }
    for language, words in expected.items():
        response = await receipt_of(person, f"xx, {language};q=0.8, en;q=0.1")
        assert response.headers["Content-Language"] == language
        for said in words:
            assert said in text_of(response.content), said
    arabic = await receipt_of(person, "ar")
    said = [text.replace("\u2068", "").replace("\u2069", "") for text in actual_texts(arabic.content)]
    for text in (
        "الإيصال",
        "من Ada Lovelace",
        "لا",
        "إجابة غير متوقعة. المتوقع: من 2.0 °C إلى 8.0 °C",
        "ملاحظة: Die Tür klemmt.",
    ):
        assert text in said, said
    assert "1,234.5 °C" in text_of(arabic.content)


async def test_only_a_completed_run_has_one_and_only_its_own_link_opens_it(api: Api) -> None:
    person = await person_for(api, step("a"))
    assert error_of(await receipt_of(person)) == (409, "run_not_completed")
    await person.answer("a")
    assert error_of(await receipt_of(person)) == (409, "run_not_completed")
    cancelled = await person_for(api, step("a"))
    assert (await cancelled.cancel()).status_code == 200
    refused = await receipt_of(cancelled)
    assert error_of(refused) == (409, "run_not_completed")
    assert "cancelled" in refused.json()["message"]
    assert (await person.submit()).status_code == 200

    other = await api.make_account()
    template = await other.create_template()
    theirs = await other.dispatch(template["id"])
    for token in (api.token(theirs["run_id"], other), api.token(cancelled.run_id)):
        assert error_of(await receipt_of(Person(person.run_id, api, token))) == (401, "unauthorized")
    # The token that a run of this id would have in the other organization opens what is there: nothing.
    foreign = Person(person.run_id, api, api.token(person.run_id, other))
    assert error_of(await receipt_of(foreign)) == (404, "run_not_found")
    assert (await api.http.get(f"/v1/executor/runs/{person.run_id}/receipt")).status_code == 401
    unknown = new_id("r")
    assert error_of(await receipt_of(Person(unknown, api, api.token(unknown)))) == (404, "run_not_found")
    for zone in ("../../etc/passwd", "/etc/localtime", "", "Europe/Berlin " * 9):
        assert error_of(await receipt_of(person, time_zone=zone)) == (400, "invalid_parameter")
    twice = await person.call("GET", "/receipt", params=[("time_zone", "UTC"), ("time_zone", "UTC")])
    assert error_of(twice) == (400, "invalid_parameter")


async def test_a_member_gets_that_of_their_own_run_with_their_name(api: Api) -> None:
    member, other = await member_of(api, name="Vera Viewer"), await member_of(api, "admin")
    person = await person_for(api, step("a"), identity="member")
    mine = {"Sec-Fetch-Site": "same-origin"} | member.headers
    assert (await person.call("POST", "/submit", json={}, headers=mine)).status_code == 200
    assert error_of(await receipt_of(person)) == (401, "sign_in_required")
    assert error_of(await receipt_of(person, headers=other.headers)) == (403, "assigned_to_another")
    response = await receipt_of(person, headers=member.headers)
    text = text_of(response.content)
    assert "Answered by Vera Viewer" in text
    assert member.member_id not in text


@asynccontextmanager
async def held_back(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """PDFs that are drawn wait until the end; the run ids of those that have begun."""
    begun, end, drawn = list[str](), asyncio.Event(), PdfPrinter._print

    async def wait(self: PdfPrinter, content: Any) -> bytes:
        begun.append(content.run_id)
        await end.wait()
        return await drawn(self, content)

    with monkeypatch.context() as patch:
        patch.setattr(PdfPrinter, "_print", wait)
        try:
            yield begun
        finally:
            end.set()


async def test_one_run_has_one_at_a_time_and_an_owners_pdf_always_finds_a_place(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [await submitted(api) for _ in range(5)]
    async with held_back(monkeypatch) as begun:
        waiting = [asyncio.create_task(receipt_of(person)) for person in people[:1]]
        await eventually(lambda: begun == [people[0].run_id])
        again = await receipt_of(people[0], "de")
        assert error_of(again) == (429, "rate_limited")
        assert int(again.headers["Retry-After"]) >= 1
        waiting += [asyncio.create_task(receipt_of(person)) for person in people[1:4]]
        await eventually(lambda: api.services.pdf_printer._waiting == 4)
        assert error_of(await receipt_of(people[4])) == (429, "rate_limited")
        export = api.http.get(f"/v1/runs/{people[4].run_id}/export", params={"format": "pdf"}, timeout=120)
        owners = asyncio.create_task(export)
        await eventually(lambda: api.services.pdf_printer._waiting == 5)
    for response in await asyncio.gather(*waiting, owners):
        assert response.status_code == 200, response.text
        assert len(pypdfium2.PdfDocument(io.BytesIO(response.content))) == 1
    assert (await receipt_of(people[4])).status_code == 200
