"""Photos through the executor API, from the upload to the address that serves them (contract sections 4 and 6)."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from io import BytesIO
from typing import Any

import httpx
import pillow_heif
import pytest
from PIL import Image
from PIL.ExifTags import IFD, Base

from checklist_crds.errors import ServiceUnavailable
from checklist_crds.photo_store import PhotoStore, StoreUnavailable
from checklist_crds.times import utc_now

from .conftest import Api, StartApi
from .executor_client import Person, error_of, person_for, step
from .pictures import drawing, photo_of_a_camera, picture

MIB = 1024 * 1024


@pytest.fixture
def photo_settings(each_store: dict[str, str]) -> dict[str, str]:
    """All of it with a folder and with S3."""
    return each_store


def codes(response: httpx.Response) -> list[str]:
    return [problem["code"] for problem in response.json()["details"]]


def folders(api: Api) -> list[str]:
    """What uploads have left behind."""
    return [str(path) for path in api.services.settings.upload_folder.glob("checklist-dispatch-uploads-*/*")]


async def stored_objects(api: Api, person: Person) -> int:
    return len(await api.services.photo_store.objects_of(person.run_id))


async def test_a_photo_is_kept_and_can_be_fetched(api: Api) -> None:
    person = await person_for(api, step("a", "photo", required=True))
    response = await person.upload("a", picture())
    assert response.status_code == 201, response.text
    change = response.json()
    photo = change["photo"]
    assert change["answer"]["photos"] == [photo]
    assert (change["status"], change["progress"]["answered"], change["replayed"]) == ("in_progress", 1, False)
    assert (photo["photo_index"], photo["content_type"]) == (0, "image/jpeg")
    assert (photo["width"], photo["height"], photo["captured_at"], photo["distance_m"]) == (640, 480, None, None)
    served = await person.fetch(photo["url"])
    assert served.status_code == 200
    assert len(served.content) == photo["bytes"]
    assert hashlib.sha256(served.content).hexdigest() == photo["sha256"]
    assert Image.open(BytesIO(served.content)).size == (640, 480)
    thumbnail = await person.fetch(photo["thumbnail_url"])
    assert max(Image.open(BytesIO(thumbnail.content)).size) == 320
    assert await person.events() == ["step.completed"]
    assert folders(api) == []


@pytest.mark.parametrize(("kind", "served_as"), [("PNG", "image/png"), ("WEBP", "image/webp"), ("HEIF", "image/jpeg")])
async def test_every_format_is_taken_and_served_as_what_browsers_show(api: Api, kind: str, served_as: str) -> None:
    pillow_heif.register_heif_opener()
    person = await person_for(api, step("a", "photo"))
    photo = (await person.upload("a", picture(kind), "application/octet-stream")).json()["photo"]
    served = await person.fetch(photo["url"])
    assert photo["content_type"] == served.headers["Content-Type"] == served_as


async def test_what_a_photo_says_of_itself_becomes_data_and_is_not_served(api: Api) -> None:
    person = await person_for(api, step("a", "photo", geo=True))
    await person.answer("a", None, geo={"lat": 52.501, "lng": 13.4, "accuracy_m": 5})
    photo = (await person.upload("a", photo_of_a_camera())).json()["photo"]
    assert (photo["captured_at"], photo["captured_at_zone"]) == ("2026-11-21T12:30:00.000Z", "stated")
    assert 105 <= photo["distance_m"] <= 117
    assert (photo["width"], photo["height"]) == (480, 640)
    served = await person.fetch(photo["url"])
    assert not Image.open(BytesIO(served.content)).getexif()
    assert b"Camera Works" not in served.content


async def test_a_camera_without_a_time_zone_is_taken_for_one_in_utc(api: Api) -> None:
    exif = Image.Exif()
    exif.get_ifd(IFD.Exif)[Base.DateTimeOriginal] = "2026:11:21 10:00:00"
    upload = BytesIO()
    Image.new("RGB", (64, 48), "green").save(upload, "JPEG", exif=exif)
    person = await person_for(api, step("a", "photo"))
    photo = (await person.upload("a", upload.getvalue())).json()["photo"]
    assert (photo["captured_at"], photo["captured_at_zone"]) == ("2026-11-21T10:00:00.000Z", "assumed")
    seen = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["answers"]["s-a"]["photos"][0]
    assert (seen["captured_at"], seen["captured_at_zone"]) == ("2026-11-21T10:00:00.000Z", "assumed")


async def test_owner_and_executor_read_addresses_made_anew(start_api: StartApi) -> None:
    ahead = [timedelta()]
    api = await start_api(clock=lambda: utc_now() + ahead[0])
    person = await person_for(api, step("a", "photo"))
    first = (await person.upload("a", picture())).json()["photo"]["url"]
    ahead[0] = timedelta(minutes=59)
    assert (await person.fetch(first)).status_code == 200
    ahead[0] = timedelta(minutes=61)
    gone = await person.fetch(first)
    assert error_of(gone) == (404, "not_found")
    owner = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["answers"]["s-a"]["photos"][0]["url"]
    own = (await person.look())["answers"]["s-a"]["photos"][0]["url"]
    assert first not in (owner, own)
    for url in (owner, own):
        assert (await person.fetch(url)).status_code == 200


async def test_a_photo_is_served_so_that_it_can_be_nothing_but_an_image(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    url = (await person.upload("a", picture())).json()["photo"]["url"]
    served = await person.fetch(url)
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert served.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert served.headers["Content-Disposition"].startswith('inline; filename="')
    assert served.headers["Cache-Control"].startswith("private, max-age=3")
    assert "X-Request-Id" in served.headers
    head = await person.fetch(url, "HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(served.content))
    part = await person.fetch(url, headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.headers["Accept-Ranges"], part.content) == (200, "none", served.content)
    again = await person.fetch(url, headers={"If-None-Match": served.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_an_address_that_was_changed_is_like_one_that_never_was(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    photo = (await person.upload("a", picture())).json()["photo"]
    url = photo["url"]
    unknown = url.replace(url.split("/")[-1][:8], "00000000")
    longer = url.replace("e=", "e=9")
    for changed in (unknown, longer, url[:-1] + ("A" if url[-1] != "A" else "B"), url.partition("?")[0]):
        assert error_of(await person.fetch(changed)) == (404, "not_found"), changed
    query = url.partition("?")[2]
    assert (await person.fetch(f"{photo['thumbnail_url'].partition('?')[0]}?{query}")).status_code == 404


async def test_photos_are_taken_back_and_the_others_keep_their_index(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    for color in ("red", "green", "blue"):
        await person.upload("a", picture(color=color))
    change = (await person.take_back("a", photo_index=1)).json()
    assert [photo["photo_index"] for photo in change["answer"]["photos"]] == [0, 2]
    added = (await person.upload("a", picture())).json()
    assert added["photo"]["photo_index"] == 3
    assert [photo["photo_index"] for photo in added["answer"]["photos"]] == [0, 2, 3]
    change = (await person.take_back("a")).json()
    assert change["answer"] is None
    assert (await person.take_back("a", photo_index=7)).status_code == 200
    assert error_of(await person.take_back("a", photo_index="x")) == (400, "invalid_parameter")


async def test_the_photo_to_take_back_may_be_named_in_the_body(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    for color in ("red", "green", "blue"):
        await person.upload("a", picture(color=color))
    path = "/answers/s-a/photos"
    taken = await person.call("DELETE", path, json={"photo_index": 1, "op_id": "one"})
    assert [photo["photo_index"] for photo in taken.json()["answer"]["photos"]] == [0, 2]
    for wrong in ({"photo_index": "0"}, {"photo_index": -1}, {"photo_index": True}):
        assert error_of(await person.call("DELETE", path, json=wrong)) == (422, "validation_failed")
    differing = await person.call("DELETE", path, params={"photo_index": 0}, json={"photo_index": 2})
    assert error_of(differing) == (422, "validation_failed")
    assert len((await person.look())["answers"]["s-a"]["photos"]) == 2


async def test_taking_a_photo_back_twice_is_taking_it_back_once(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    for _ in range(2):
        await person.upload("a", picture())
    for op_id in ("one", "one", "two"):
        again = await person.take_back("a", photo_index=0, op_id=op_id)
        assert again.status_code == 200
        assert [photo["photo_index"] for photo in again.json()["answer"]["photos"]] == [1]
    for replayed in (False, True):
        gone = (await person.take_back("a", op_id="all")).json()
        assert (gone["answer"], gone["replayed"]) == (None, replayed)
        if not replayed:
            await person.clear("a")
    await person.upload("a", picture())
    # Sent again after a new photo came, it is still the same wish, and no new one.
    assert (await person.take_back("a", op_id="all")).json()["replayed"] is True
    assert [photo["photo_index"] for photo in (await person.look())["answers"]["s-a"]["photos"]] == [2]


async def test_bounds_hold_at_upload_and_at_submit(api: Api) -> None:
    person = await person_for(api, step("a", "photo", required=True, config={"min": 2, "max": 2}), step("b"))
    await person.upload("a", picture())
    refused = await person.submit()
    assert error_of(refused) == (422, "required_steps_missing")
    await person.upload("a", picture())
    third = await person.upload("a", picture())
    assert (error_of(third), codes(third)) == ((422, "answer_invalid"), ["too_many"])
    without = await person.upload("b", picture())
    assert (error_of(without), codes(without)) == ((422, "answer_invalid"), ["photos_not_taken"])
    assert (await person.submit()).status_code == 200
    assert await stored_objects(api, person) == 4


async def test_an_upload_that_is_sent_again_is_kept_once(api: Api) -> None:
    person = await person_for(api, step("a", "photo"), step("b", "photo"))
    first = await person.upload("a", picture(), op_id="one")
    again = await person.upload("a", picture(), op_id="one")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["replayed"] is True
    assert again.json()["photo"]["photo_index"] == 0
    assert again.json()["photo"]["sha256"] == first.json()["photo"]["sha256"]
    assert await stored_objects(api, person) == 2
    other = await person.upload("b", picture(), op_id="one")
    assert error_of(other) == (422, "idempotency_key_reused")


async def test_the_same_upload_twice_at_once_is_one_photo(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    answers = await asyncio.gather(*(person.upload("a", picture(), op_id="one") for _ in range(4)))
    assert sorted(answer.json()["replayed"] for answer in answers) == [False, True, True, True]
    assert len((await person.look())["answers"]["s-a"]["photos"]) == 1
    assert await stored_objects(api, person) == 2


async def test_many_devices_upload_at_once_and_every_photo_is_kept(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    answers = await asyncio.gather(*(person.upload("a", picture(color=(7 * n, 0, 0))) for n in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    photos = (await person.look())["answers"]["s-a"]["photos"]
    assert [photo["photo_index"] for photo in photos] == list(range(8))
    assert len({photo["sha256"] for photo in photos}) == 8


@pytest.mark.parametrize(
    ("body", "kind", "expected", "code"),
    [
        (b"", "image/jpeg", (422, "answer_invalid"), "not_an_image"),
        (b"<svg onload=alert(1)>", "image/svg+xml", (422, "answer_invalid"), None),
        (b"GIF89a" + b"\0" * 50, "image/gif", (422, "answer_invalid"), "unsupported_format"),
        (picture()[:3000], "image/jpeg", (422, "answer_invalid"), None),
        (b"{}", "application/json", (415, "unsupported_media_type"), None),
        (b"\0" * (10 * MIB + 1), "image/jpeg", (413, "payload_too_large"), None),
    ],
)
async def test_what_is_no_photo_is_refused_and_leaves_nothing(
    api: Api, body: bytes, kind: str, expected: tuple[int, str], code: str | None
) -> None:
    person = await person_for(api, step("a", "photo"))
    refused = await person.upload("a", body, kind)
    assert error_of(refused) == expected
    if code is not None:
        assert codes(refused) == [code]
    assert (await stored_objects(api, person), folders(api)) == (0, [])
    assert (await person.look())["status"] == "pending"


async def test_a_body_of_unknown_length_is_cut_at_the_limit(api: Api) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(11 * 16):
            yield b"\xff" * (MIB // 16)

    person = await person_for(api, step("a", "photo"))
    assert error_of(await person.upload("a", endless())) == (413, "payload_too_large")
    assert folders(api) == []


async def test_nothing_is_read_of_an_upload_that_cannot_be_taken(api: Api) -> None:
    """The body never comes, and yet there is an answer."""

    async def answer_to(person: Person, path: str, token: str) -> int:
        host, port = api.base_url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST /v1/executor/runs/{person.run_id}{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
            f"Authorization: Executor {token}\r\nContent-Type: image/jpeg\r\n\r\n"
        )
        writer.write(head.encode())
        status = int((await asyncio.wait_for(reader.readline(), 10)).split()[1])
        writer.close()
        return status

    person = await person_for(api, step("a", "photo", config={"max": 1}), step("b"))
    await person.upload("a", picture(), op_id="one")
    photos = "/answers/s-a/photos"
    assert await answer_to(person, photos, "x" * 43) == 401
    assert await answer_to(person, "/answers/s-none/photos", person.token) == 404
    assert await answer_to(person, "/answers/s-b/photos", person.token) == 422
    assert await answer_to(person, photos, person.token) == 422
    assert await answer_to(person, f"{photos}?op_id=one", person.token) == 200
    await person.cancel()
    assert await answer_to(person, photos, person.token) == 409


async def test_one_run_cannot_take_all_places_for_uploads(api: Api) -> None:
    one, other = [await person_for(api, step("a", "photo")) for _ in range(2)]
    go_on = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield picture()[:100]
        await go_on.wait()
        yield picture()[100:]

    slow_ones = [asyncio.create_task(one.upload("a", slow())) for _ in range(8)]
    while len(folders(api)) < 8:
        await asyncio.sleep(0.01)
    refused = await one.upload("a", picture())
    assert (error_of(refused), "Retry-After" in refused.headers) == ((503, "service_unavailable"), True)
    assert (await other.upload("a", picture())).status_code == 201
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*slow_ones)} == {201}
    assert (await one.upload("a", picture())).status_code == 201


async def test_a_connection_that_breaks_leaves_nothing(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    person = await person_for(api, step("a", "photo"))

    async def broken() -> AsyncIterator[bytes]:
        yield picture()[:1000]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await person.upload("a", broken())
    for _ in range(100):
        if not folders(api):
            break
        await asyncio.sleep(0.02)
    assert (folders(api), await stored_objects(api, person)) == ([], 0)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_run_is_limited_however_many_addresses_it_is_called_from(start_api: StartApi) -> None:
    api = await start_api(CHECKLISTS_RUN_RATE_LIMIT="1/min burst 3", CHECKLISTS_TRUSTED_PROXIES="1")
    one, other = [await person_for(api, step("a")) for _ in range(2)]
    statuses = [
        (await one.call("GET", headers={"X-Forwarded-For": f"203.0.113.{number}"})).status_code for number in range(4)
    ]
    assert statuses == [200, 200, 200, 429]
    assert (await other.call("GET")).status_code == 200
    stranger = Person(other.run_id, api, "x" * 43)
    assert {(await stranger.call("GET")).status_code for _ in range(5)} == {401}
    assert (await other.call("GET")).status_code == 200


# --- signatures


async def test_the_drawing_of_a_signature_step_is_given_back_with_the_name(api: Api) -> None:
    person = await person_for(api, step("a", "signature", required=True))
    alone = (await person.upload("a", drawing(), "image/png")).json()
    assert (alone["progress"]["answered"], alone["answer"]["value"]) == (0, None)
    signed = (await person.answer("a", {"name": "Ada"})).json()
    value = signed["answer"]["value"]
    assert (value["name"], signed["answer"]["photos"]) == ("Ada", [])
    served = await person.fetch(value["url"])
    assert (served.status_code, served.headers["Content-Type"]) == (200, "image/png")
    assert await person.events() == ["step.completed"]


async def test_the_drawn_signature_on_completion_waits_for_submit(api: Api) -> None:
    person = await person_for(api, step("a"), signature_on_complete=True)
    drawn = await person.draw(drawing(), op_id="one")
    assert (drawn.status_code, (await person.draw(drawing(), op_id="one")).json()["replayed"]) == (200, True)
    waiting = await person.look()
    assert (waiting["status"], waiting["signature"]) == ("pending", None)
    assert (await person.fetch(waiting["signature_drawing"])).status_code == 200
    assert error_of(await person.submit()) == (422, "required_steps_missing")
    done = (await person.submit(signature={"name": "Ada"})).json()
    assert (done["status"], done["signature_drawing"]) == ("completed", None)
    signature = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["signature"]
    assert signature["name"] == "Ada"
    assert (await person.fetch(signature["url"])).status_code == 200


async def test_a_drawing_can_be_taken_back_before_submit(api: Api) -> None:
    person = await person_for(api, step("a"), signature_on_complete=True)
    await person.draw(drawing())
    assert (await person.call("DELETE", "/signature")).json()["signature_drawing"] is None
    await person.submit(signature={"name": "Ada"})
    assert (await person.look())["signature"]["url"] is None


# --- the receipt


async def test_a_completed_run_has_a_receipt_that_owner_and_executor_see_alike(api: Api) -> None:
    person = await person_for(api, step("a"), step("b", "photo"))
    await person.answer("a")
    change = (await person.upload("b", picture())).json()
    assert change["receipt"] is None
    receipt = (await person.submit()).json()["receipt"]
    assert (receipt["run_id"], receipt["answers"], receipt["photos"]) == (person.run_id, 2, 1)
    digest = base64.urlsafe_b64decode(receipt["digest"].removeprefix("sha-256=") + "=")
    assert len(digest) == 32
    assert (await person.look())["receipt"] == receipt
    assert (await api.http.get(f"/v1/runs/{person.run_id}")).json()["receipt"] == receipt


async def test_the_receipt_can_be_computed_from_what_the_owner_reads(api: Api) -> None:
    """As docs/rest.md tells it; JSON of this run needs nothing of RFC 8785 but sorted names."""
    person = await person_for(api, step("a"), step("b", "photo"), step("c", "signature"), signature_on_complete=True)
    await person.answer("a", geo={"lat": 52.5, "lng": 13.25, "accuracy_m": 8.5})
    await person.upload("b", picture())
    await person.answer("c", {"name": "Zoë"})
    await person.upload("c", drawing(), "image/png")
    await person.draw(drawing())
    receipt = (await person.submit(signature={"name": "Zoë"})).json()["receipt"]
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()

    async def signature_of(value: dict[str, Any]) -> dict[str, Any]:
        image = (await person.fetch(value["url"])).content
        return {
            "name": value["name"],
            "signed_at": value["signed_at"],
            "drawing": hashlib.sha256(image).hexdigest(),
        }

    answers = {
        step_id: {
            "value": await signature_of(answer["value"]) if step_id == "s-c" else answer["value"],
            "photos": [photo["sha256"] for photo in answer["photos"]],
            "geo": answer["geo"],
            "at": answer["at"],
        }
        for step_id, answer in run["answers"].items()
    }
    document = {name: run[name] for name in ("run_id", "template_id", "template_v", "skipped_steps", "completed_at")}
    document |= {"answers": answers, "signature": await signature_of(run["signature"])}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    assert receipt["digest"] == f"sha-256={digest}"


async def test_a_store_that_is_away_refuses_for_now_and_the_retry_succeeds(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await person_for(api, step("a", "photo"))

    async def away(*_: Any) -> None:
        raise StoreUnavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(PhotoStore, "put", away)
        refused = await person.upload("a", picture(), op_id="one")
    assert error_of(refused) == (503, ServiceUnavailable.code)
    assert "Retry-After" in refused.headers
    assert (await person.upload("a", picture(), op_id="one")).status_code == 201
