"""How a photo comes in and goes: as a body or a form, as large as it may be, many at once; drawings and the receipt."""

import asyncio
import base64
import errno
import hashlib
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pillow_heif
import pytest
from tests.contract.conftest import Api, StartApi, shared_api
from tests.contract.executor_client import Person, error_of, paths, person_for, step
from tests.contract.pictures import drawing, picture
from tests.waiting import eventually

from checklist_api.photos import intake as photo_intake
from checklist_crds.photos.store import PhotoStore, StoreUnavailable
from checklist_crds.resources.kinds import ORGANIZATION, RUN
from checklist_crds.times import utc_now

api = shared_api

MIB = 1024 * 1024
LIMIT = 10 * MIB
PHOTOS = "/answers/s-a/photos"
JPEG = ("a.jpg", picture(), "image/jpeg")


def indexes_in(change: httpx.Response) -> list[int]:
    return [photo["photo_index"] for photo in change.json()["answer"]["photos"]]


async def indexes(person: Person) -> list[int]:
    answer = (await person.look())["answers"].get("s-a")
    return [photo["photo_index"] for photo in answer["photos"]] if answer else []


def codes(response: httpx.Response) -> list[str]:
    return [problem["code"] for problem in response.json()["details"]]


def folders(api: Api) -> list[str]:
    return [str(path) for path in api.services.settings.upload_folder.glob("checklist-dispatch-uploads-*/*")]


async def left_by(person: Person) -> list[Any]:
    """Photos of the answer, files of uploads and objects in the store."""
    objects = await person.photo_objects()
    return [*await indexes(person), *folders(person.api), *objects]


def head_of(person: Person, length: int, path: str = PHOTOS) -> bytes:
    return (
        f"POST /v1/executor/runs/{person.run_id}{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
        f"Authorization: Executor {person.token}\r\nContent-Type: image/jpeg\r\n\r\n"
    ).encode()


async def connected(api: Api) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = api.base_url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def test_every_format_is_taken_and_served_as_what_browsers_show_also_in_a_form(api: Api) -> None:
    pillow_heif.register_heif_opener()
    person = await person_for(api, step("a", "photo"))
    for kind, served_as in (("PNG", "image/png"), ("WEBP", "image/webp"), ("HEIF", "image/jpeg")):
        photo = (await person.upload("a", picture(kind), "application/octet-stream")).json()["photo"]
        served = await person.fetch(photo["url"])
        assert photo["content_type"] == served.headers["Content-Type"] == served_as, kind
    person = await person_for(api, step("a", "photo", config={"max": 4}))
    sha256 = (await person.upload("a", picture())).json()["photo"]["sha256"]
    for index, file in enumerate((("x", picture()), ("../../x.php", picture(), "application/octet-stream")), start=1):
        response = await person.call("POST", PHOTOS, files={"whatever": file})
        assert response.status_code == 201, response.text
        photo = response.json()["photo"]
        assert (photo["photo_index"], photo["sha256"]) == (index, sha256)
        assert (await person.fetch(photo["url"])).status_code == 200
    # Its op_id makes it safe to send again, as a form and as a body.
    form = {"data": {"op_id": "one", "note": "of the fridge"}, "files": {"photo": JPEG}}
    answers = await asyncio.gather(*(person.call("POST", PHOTOS, **form) for _ in range(4)))
    assert sorted(answer.json()["replayed"] for answer in answers) == [False, True, True, True]
    again = await person.upload("a", picture(), op_id="one")
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    differing = await person.call("POST", PHOTOS, params={"op_id": "two"}, **form)
    assert (error_of(differing), paths(differing)) == ((422, "validation_failed"), ["op_id"])
    assert (await indexes(person), folders(api)) == ([0, 1, 2, 3], [])


UNUSABLE = (422, "answer_invalid")
PART = b'--b\r\nContent-Disposition: form-data; name="photo"; filename="a"\r\n\r\n'
BAD_TYPE = PART.replace(b"\r\n\r\n", b"\r\nContent-Type: image/\xff\r\n\r\n") + picture() + b"\r\n--b--\r\n"
NO_FORMS = (
    ("multipart/form-data", PART + b"x\r\n--b--\r\n"),
    ("multipart/form-data; boundary=" + "b" * 71, b""),
    ("multipart/form-data; boundary=b", b""),
    ("multipart/form-data; boundary=b", PART + b"never closed"),
    ("multipart/form-data; boundary=b", b"--b\r\n" + b"X: y\r\n" * 500 + b"\r\n--b--\r\n"),
    ("multipart/form-data; boundary=b", b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--"),
    ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="op_id"\r\n\r\n\xff\r\n--b--'),
)
REFUSED_BODIES = (
    (b"", "image/jpeg", UNUSABLE, "not_an_image"),
    (b"<svg onload=alert(1)>", "image/svg+xml", UNUSABLE, None),
    (b"GIF89a" + b"\0" * 50, "image/gif", UNUSABLE, "unsupported_format"),
    (picture()[:3000], "image/jpeg", UNUSABLE, None),
    (b"{}", "application/json", (415, "unsupported_media_type"), None),
    (BAD_TYPE, "multipart/form-data; boundary=b", (415, "unsupported_media_type"), None),
    *((body, kind, (400, "malformed_json"), None) for kind, body in NO_FORMS),
)
REFUSED_FORMS: tuple[tuple[dict[str, Any], tuple[int, str]], ...] = (
    ({"data": {"op_id": "one"}, "files": {"x": (None, b"text")}}, (400, "missing_field")),
    ({"files": [("photo", JPEG), ("photo", JPEG)]}, (422, "validation_failed")),
    ({"files": [("photo", JPEG), ("op_id", (None, b"one"))]}, (422, "validation_failed")),
    ({"data": {"op_id": "x" * 129}, "files": {"photo": JPEG}}, (422, "validation_failed")),
    ({"data": {"note": "x" * 70_000}, "files": {"photo": JPEG}}, (413, "payload_too_large")),
    ({"files": {"photo": ("a.txt", b"text", "text/plain")}}, (415, "unsupported_media_type")),
    ({"files": {"photo": ("a.jpg", b"", "image/jpeg")}}, UNUSABLE),
)


async def test_what_is_no_photo_is_refused_and_leaves_nothing(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    for body, kind, expected, code in REFUSED_BODIES:
        refused = await person.upload("a", body, kind)
        assert error_of(refused) == expected, (body[:80], kind)
        assert code is None or codes(refused) == [code]
    for form, expected in REFUSED_FORMS:
        assert error_of(await person.call("POST", PHOTOS, **form)) == expected, form
    assert await left_by(person) == []
    assert (await person.look())["status"] == "pending"


async def chunks_of(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


async def test_ten_mebibytes_are_taken_and_not_a_byte_more(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))

    async def sent(way: str, size: int) -> httpx.Response:
        content = picture().ljust(size, b"\0")  # what follows the end of a JPEG is not read
        if way == "form":
            return await person.call("POST", PHOTOS, files={"photo": ("a.jpg", content, "image/jpeg")})
        return await person.upload("a", content if way == "body" else chunks_of(content))

    for way in ("body", "chunks", "form"):
        assert (await sent(way, LIMIT)).status_code == 201, way
        assert error_of(await sent(way, LIMIT + 1)) == (413, "payload_too_large"), way
    assert (await indexes(person), folders(api)) == ([0, 1, 2], [])


async def test_a_connection_that_breaks_leaves_nothing(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    person = await person_for(api, step("a", "photo"))
    reader, writer = await connected(api)
    writer.write(head_of(person, len(picture()) + 10) + picture())
    await writer.drain()
    await eventually(lambda: folders(api))
    writer.close()
    await eventually(lambda: not folders(api))
    assert await left_by(person) == []
    assert await reader.read() == b""
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_nothing_is_read_of_an_upload_that_cannot_be_taken(api: Api) -> None:
    """The body never comes, and yet there is an answer."""

    async def answer_to(person: Person, path: str) -> int:
        reader, writer = await connected(api)
        writer.write(head_of(person, 1_000_000, path))
        status = int((await asyncio.wait_for(reader.readline(), 10)).split()[1])
        writer.close()
        return status

    person = await person_for(api, step("a", "photo", config={"max": 1}), step("b"))
    await person.upload("a", picture(), op_id="one")
    assert await answer_to(Person(person.run_id, api, "x" * 43), PHOTOS) == 401
    assert await answer_to(person, "/answers/s-none/photos") == 404
    assert await answer_to(person, "/answers/s-b/photos") == 422
    assert await answer_to(person, PHOTOS) == 422
    assert await answer_to(person, f"{PHOTOS}?op_id=one") == 200
    await person.cancel()
    assert await answer_to(person, PHOTOS) == 409


async def test_a_full_disk_or_missing_store_is_retryable(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    person = await person_for(api, step("a", "photo"))

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def away(*_: Any) -> None:
        raise StoreUnavailable("no answer")

    for owner, name, fails in ((photo_intake, "_write", full), (PhotoStore, "put", away)):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fails)
            refused = await person.upload("a", picture(), op_id=name)
        assert (error_of(refused), "Retry-After" in refused.headers) == ((503, "service_unavailable"), True)
        assert folders(api) == []
        assert (await person.upload("a", picture(), op_id=name)).status_code == 201


async def test_uploads_are_counted_by_what_became_of_them(start_api: StartApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api = await start_api()
    person = await person_for(api, step("a", "photo"), step("b"), signature_on_complete=True)
    photo = (await person.upload("a", picture(), op_id="one")).json()["photo"]
    await person.upload("a", picture(), op_id="one")
    await person.upload("a", b"no image")
    await person.upload("a", b"{}", "application/json")
    await person.upload("b", picture())
    await person.draw(drawing())
    for failure in (StoreUnavailable("no answer"), RuntimeError()):

        async def fails(*_: Any, failure: Exception = failure) -> None:
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(PhotoStore, "put", fails)
            await person.upload("a", picture())
    text = (await api.anonymous.get("/metrics")).text
    counts = dict(re.findall(r'^checklists_photo_uploads_total\{result="(\w+)"\} (\d+)', text, re.MULTILINE))
    expected = {"kept": 2, "replayed": 1, "no_photo": 1, "refused": 2, "unavailable": 1, "broken_off": 0, "failed": 1}
    assert {result: int(count) for result, count in counts.items()} == expected
    assert float(re.findall(r"^checklists_photo_bytes_total (\S+)", text, re.MULTILINE)[0]) > photo["bytes"]


async def test_of_eight_at_once_as_many_are_kept_as_the_step_takes(api: Api) -> None:
    person = await person_for(api, step("a", "photo", required=True, config={"min": 2, "max": 5}), step("b"))
    await person.upload("a", picture())
    assert error_of(await person.submit()) == (422, "required_steps_missing")
    answers = await asyncio.gather(*(person.upload("a", picture(color=(7 * n, 0, 0))) for n in range(1, 9)))
    assert sorted(answer.status_code for answer in answers) == [201] * 4 + [422] * 4
    assert {code for answer in answers if answer.status_code == 422 for code in codes(answer)} == {"too_many"}
    photos = (await person.look())["answers"]["s-a"]["photos"]
    assert [photo["photo_index"] for photo in photos] == [0, 1, 2, 3, 4]
    assert len({photo["sha256"] for photo in photos}) == 5
    assert await person.events() == ["step.completed"] * 4
    stored = len(await person.photo_objects())
    for name, code in (("a", "too_many"), ("b", "photos_not_taken")):
        refused = await person.upload(name, picture())
        assert (error_of(refused), codes(refused)) == (UNUSABLE, [code])
    assert len(await person.photo_objects()) == stored
    assert (await person.submit()).status_code == 200


async def test_one_run_cannot_take_all_places_for_uploads(api: Api) -> None:
    one, other = [await person_for(api, step("a", "photo")) for _ in range(2)]
    go_on = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield picture()[:100]
        await go_on.wait()
        yield picture()[100:]

    slow_ones = [asyncio.create_task(one.upload("a", slow())) for _ in range(8)]
    await eventually(lambda: len(folders(api)) == 8)
    refused = await one.upload("a", picture())
    assert (error_of(refused), "Retry-After" in refused.headers) == ((503, "service_unavailable"), True)
    assert (await other.upload("a", picture())).status_code == 201
    go_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*slow_ones)} == {201}
    assert (await one.upload("a", picture())).status_code == 201


async def test_photo_urls_expire_and_cannot_be_changed(
    start_api: StartApi,
) -> None:
    ahead = [timedelta()]
    api = await start_api(clock=lambda: utc_now() + ahead[0])
    person = await person_for(api, step("a", "photo"))
    photo = (await person.upload("a", picture())).json()["photo"]
    url, query = photo["url"], photo["url"].partition("?")[2]
    # Every way to change one: tests/unit/core/test_server_keys.py.
    for address in (url.replace("e=", "e=9"), f"{photo['thumbnail_url'].partition('?')[0]}?{query}"):
        assert error_of(await person.fetch(address)) == (404, "not_found"), address
    ahead[0] = timedelta(minutes=59)
    assert (await person.fetch(url)).status_code == 200
    ahead[0] = timedelta(minutes=61)
    assert error_of(await person.fetch(url)) == (404, "not_found")
    owners = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["answers"]["s-a"]["photos"][0]["url"]
    own = (await person.look())["answers"]["s-a"]["photos"][0]["url"]
    assert url not in (owners, own)
    for address in (owners, own):
        assert (await person.fetch(address)).status_code == 200


async def test_photos_are_taken_back_once_and_the_others_keep_their_index(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    for color in ("red", "green", "blue"):
        await person.upload("a", picture(color=color))
    for op_id in ("one", "one", "two"):
        assert indexes_in(await person.take_back("a", photo_index=1, op_id=op_id)) == [0, 2]
    assert (await person.upload("a", picture())).json()["photo"]["photo_index"] == 3
    assert indexes_in(await person.call("DELETE", PHOTOS, json={"photo_index": 2, "op_id": "body"})) == [0, 3]
    # Other ways to name it, and wrong ones: tests/unit/runs/test_answers.py.
    assert error_of(await person.take_back("a", photo_index="x")) == (400, "invalid_parameter")
    assert await indexes(person) == [0, 3]
    for replayed in (False, True):
        gone = (await person.take_back("a", op_id="all")).json()
        assert (gone["answer"], gone["replayed"]) == (None, replayed)
    assert (await person.take_back("a", photo_index=7)).status_code == 200
    await person.upload("a", picture())
    # Sent again after a new photo came, it is still the same operation.
    assert (await person.take_back("a", op_id="all")).json()["replayed"] is True
    assert await indexes(person) == [4]


async def test_drawings_count_for_the_run_and_what_was_replaced_or_refused_is_deleted(api: Api) -> None:
    person = await person_for(api, step("a", "photo", config={"max": 1}), signature_on_complete=True)

    async def draw() -> httpx.Response:
        return await person.draw(drawing())

    async def stored() -> int:
        return len(await person.photo_objects())

    assert [(await draw()).status_code for _ in range(3)] == [200] * 3
    assert await stored() == 2, "the drawing and its thumbnail"
    uploads = [person.upload("a", picture(), op_id=f"op-{number}") for number in range(5)]
    answers = await asyncio.gather(*uploads)
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422, 422]
    assert await stored() == 4
    [run] = await api.all_of(RUN)
    used = run["status"]["storedBytes"]
    assert run["status"]["drawingCount"] == 3
    limits = {"limits": {"runBytes": used + 10}}
    await api.kube.patch(ORGANIZATION, api.organization, {"spec": limits})

    async def is_known() -> bool:
        organization = await api.services.organizations.get(api.organization)
        return organization is not None and organization.limits is not None

    await eventually(is_known)
    refused = await draw()
    assert (refused.status_code, refused.json()["error"]) == (409, "limit_reached")
    assert refused.json()["details"] == {"limit": used + 10, "used": used, "what": "run_bytes"}
    assert (await person.call("DELETE", "/signature")).status_code == 200
    assert await stored() == 2
    assert (await draw()).status_code == 409, "what is taken back leaves no room"


async def test_the_drawn_signature_on_completion_waits_for_submit(api: Api) -> None:
    person = await person_for(api, step("a"), signature_on_complete=True)
    drawn = await person.draw(drawing(), op_id="one")
    assert (drawn.status_code, (await person.draw(drawing(), op_id="one")).json()["replayed"]) == (200, True)
    assert (await person.call("DELETE", "/signature")).json()["signature_drawing"] is None
    form = {"photo": ("drawing.png", drawing(), "image/png")}
    assert (await person.call("PUT", "/signature", files=form)).status_code == 200
    waiting = await person.look()
    assert (waiting["status"], waiting["signature"]) == ("pending", None)
    assert (await person.fetch(waiting["signature_drawing"])).status_code == 200
    assert error_of(await person.submit()) == (422, "required_steps_missing")
    done = (await person.submit(signature={"name": "Ada"})).json()
    assert (done["status"], done["signature_drawing"]) == ("completed", None)
    signature = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["signature"]
    assert signature["name"] == "Ada"
    assert (await person.fetch(signature["url"])).status_code == 200


async def test_the_receipt_can_be_computed_from_what_the_owner_reads(api: Api) -> None:
    """As docs/rest.md tells it; JSON of this run needs nothing of RFC 8785 but sorted names."""
    person = await person_for(api, step("a"), step("b", "photo"), step("c", "signature"), signature_on_complete=True)
    await person.answer("a", geo={"lat": 52.5, "lng": 13.25, "accuracy_m": 8.5})
    assert (await person.upload("b", picture())).json()["receipt"] is None
    await person.answer("c", {"name": "Zoë"})
    await person.upload("c", drawing(), "image/png")
    await person.draw(drawing())
    receipt = (await person.submit(signature={"name": "Zoë"})).json()["receipt"]
    run = (await api.http.get(f"/v1/runs/{person.run_id}")).json()
    assert (await person.look())["receipt"] == run["receipt"] == receipt
    assert (receipt["run_id"], receipt["answers"], receipt["photos"]) == (person.run_id, 3, 1)

    async def signature_of(value: dict[str, Any]) -> dict[str, Any]:
        image = (await person.fetch(value["url"])).content
        drawn = hashlib.sha256(image).hexdigest()
        return {"name": value["name"], "signed_at": value["signed_at"], "drawing": drawn}

    answers = {}
    for step_id, answer in run["answers"].items():
        value = await signature_of(answer["value"]) if step_id == "s-c" else answer["value"]
        photos = [photo["sha256"] for photo in answer["photos"]]
        answers[step_id] = {"value": value, "photos": photos, "geo": answer["geo"], "at": answer["at"]}
    document = {name: run[name] for name in ("run_id", "template_id", "template_v", "skipped_steps", "completed_at")}
    document |= {"answers": answers, "signature": await signature_of(run["signature"])}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    assert receipt["digest"] == f"sha-256={digest}"
