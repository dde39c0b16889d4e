"""How a photo comes in: as a form, as large as it may be, with a length that is not true, many at once."""

import asyncio
import errno
import json
import re
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import httpx
import pytest

from checklist_api import photo_intake
from checklist_crds.photo_store import PhotoStore, StoreUnavailable

from .conftest import Api
from .executor_client import Person, error_of, paths, person_for, step
from .pictures import drawing, picture

LIMIT = 10 * 1024 * 1024
PHOTOS = "/answers/s-a/photos"


def of_size(size: int) -> bytes:
    """A JPEG of so many bytes; what follows its end is not read."""
    return picture().ljust(size, b"\0")


async def send(person: Person, *, path: str = PHOTOS, method: str = "POST", **form: Any) -> httpx.Response:
    return await person.call(method, path, **form)


async def indexes(person: Person) -> list[int]:
    answer = (await person.look())["answers"].get("s-a")
    return [photo["photo_index"] for photo in answer["photos"]] if answer else []


def folders(api: Api) -> list[str]:
    return [str(path) for path in api.services.settings.upload_folder.glob("checklist-dispatch-uploads-*/*")]


# --- forms


@pytest.mark.parametrize(
    "file",
    [("fridge.jpg", picture(), "image/jpeg"), ("x", picture()), ("../../x.php", picture(), "application/octet-stream")],
)
async def test_a_form_with_one_file_is_an_upload_like_any_other(api: Api, file: Any) -> None:
    person = await person_for(api, step("a", "photo"))
    alone = (await person.upload("a", picture())).json()["photo"]
    response = await send(person, files={"whatever": file})
    assert response.status_code == 201, response.text
    photo = response.json()["photo"]
    assert (photo["photo_index"], photo["sha256"]) == (1, alone["sha256"])
    assert (await person.fetch(photo["url"])).status_code == 200
    assert folders(api) == []


async def test_the_op_id_of_a_form_makes_it_safe_to_send_again(api: Api) -> None:
    person = await person_for(api, step("a", "photo", config={"max": 1}))
    form = {"data": {"op_id": "one", "note": "of the fridge"}, "files": {"photo": ("a.jpg", picture(), "image/jpeg")}}
    first, again = await send(person, **form), await send(person, **form)
    assert (first.status_code, again.status_code, again.json()["replayed"]) == (201, 200, True)
    assert again.json()["photo"]["sha256"] == first.json()["photo"]["sha256"]
    # As a body and with its op_id in the query it is the same operation.
    assert (await person.upload("a", picture(), op_id="one")).json()["replayed"] is True
    differing = await send(person, params={"op_id": "two"}, **form)
    assert (error_of(differing), paths(differing)) == ((422, "validation_failed"), ["op_id"])
    assert await indexes(person) == [0]


async def test_the_drawn_signature_may_be_a_form_too(api: Api) -> None:
    person = await person_for(api, step("a"), signature_on_complete=True)
    form = {"files": {"photo": ("drawing.png", drawing(), "image/png")}}
    drawn = await send(person, path="/signature", method="PUT", **form)
    assert (drawn.status_code, (await person.fetch(drawn.json()["signature_drawing"])).status_code) == (200, 200)


JPEG = ("a.jpg", picture(), "image/jpeg")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"data": {"op_id": "one"}, "files": {"x": (None, b"text")}}, (400, "missing_field")),
        ({"files": [("photo", JPEG), ("photo", JPEG)]}, (422, "validation_failed")),
        ({"files": [("photo", JPEG), ("op_id", (None, b"one"))]}, (422, "validation_failed")),
        ({"data": {"op_id": "x" * 129}, "files": {"photo": JPEG}}, (422, "validation_failed")),
        ({"data": {"note": "x" * 70_000}, "files": {"photo": JPEG}}, (413, "payload_too_large")),
        ({"files": {"photo": ("a.txt", b"text", "text/plain")}}, (415, "unsupported_media_type")),
        ({"files": {"photo": ("a.jpg", b"", "image/jpeg")}}, (422, "answer_invalid")),
        ({"files": {"photo": ("a.jpg", picture()[:3000], "image/jpeg")}}, (422, "answer_invalid")),
    ],
)
async def test_a_form_that_is_no_upload_is_refused_and_leaves_nothing(
    api: Api, form: dict[str, Any], expected: tuple[int, str]
) -> None:
    person = await person_for(api, step("a", "photo"))
    assert error_of(await send(person, **form)) == expected
    assert (await indexes(person), folders(api)) == ([], [])
    assert await api.services.photo_store.objects_of(person.run_id) == []


PART = b'--b\r\nContent-Disposition: form-data; name="photo"; filename="a"\r\n\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", PART + b"x\r\n--b--\r\n"),
        ("multipart/form-data; boundary=" + "b" * 71, b""),
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", b"no form at all"),
        ("multipart/form-data; boundary=b", PART),
        ("multipart/form-data; boundary=b", PART + b"never closed"),
        ("multipart/form-data; boundary=b", b"--b\r\n" + b"X: y\r\n" * 500 + b"\r\n--b--\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="op_id"\r\n\r\n\xff\r\n--b--',
        ),
    ],
)
async def test_what_is_no_form_is_400(api: Api, kind: str, body: bytes) -> None:
    person = await person_for(api, step("a", "photo"))
    assert error_of(await person.upload("a", body, kind)) == (400, "malformed_json")
    assert folders(api) == []


# --- sizes


async def chunks_of(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


@pytest.mark.parametrize("way", ["body", "chunks", "form"])
async def test_ten_mebibytes_are_taken_and_not_a_byte_more(api: Api, way: str) -> None:
    person = await person_for(api, step("a", "photo"))

    async def sent(size: int) -> httpx.Response:
        content = of_size(size)
        if way == "form":
            return await send(person, files={"photo": ("a.jpg", content, "image/jpeg")})
        return await person.upload("a", content if way == "body" else chunks_of(content))

    assert (await sent(LIMIT)).status_code == 201
    assert error_of(await sent(LIMIT + 1)) == (413, "payload_too_large")
    assert (await indexes(person), folders(api)) == ([0], [])


async def test_more_bytes_promised_than_sent_are_no_photo_and_leave_nothing(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    host, port = api.base_url.removeprefix("http://").split(":")
    image = picture()
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(_head(person, len(image) + 10) + image)
    await writer.drain()
    while not folders(api):
        await asyncio.sleep(0.01)
    writer.close()
    for _ in range(200):
        if not folders(api):
            break
        await asyncio.sleep(0.02)
    assert (folders(api), await indexes(person)) == ([], [])
    assert await reader.read() == b""


async def test_fewer_bytes_promised_than_sent_are_no_photo(api: Api) -> None:
    person = await person_for(api, step("a", "photo"))
    host, port = api.base_url.removeprefix("http://").split(":")
    image = picture()
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(_head(person, len(image) // 2) + image)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    # What is over is no HTTP; it depends on how the bytes arrive whether that is seen before the photo was judged.
    assert head.split()[1] in {b"400", b"422"}
    assert json.loads(body.splitlines()[0])["error"] in {"invalid_parameter", "malformed_json", "answer_invalid"}
    assert (folders(api), await indexes(person)) == ([], [])


def _head(person: Person, length: int) -> bytes:
    return (
        f"POST /v1/executor/runs/{person.run_id}{PHOTOS} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
        f"Authorization: Executor {person.token}\r\nContent-Type: image/jpeg\r\n\r\n"
    ).encode()


async def test_a_full_disk_is_no_verdict_on_the_photo(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    person = await person_for(api, step("a", "photo"))

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(photo_intake, "_write", full)
        refused = await person.upload("a", picture(), op_id="one")
    assert (error_of(refused), "Retry-After" in refused.headers) == ((503, "service_unavailable"), True)
    assert folders(api) == []
    assert (await person.upload("a", picture(), op_id="one")).status_code == 201


def test_a_disk_that_takes_a_part_only_is_given_the_rest() -> None:
    class Reluctant(BytesIO):
        def write(self, given: Any) -> int:
            return super().write(bytes(given[:3]))

    disk = Reluctant()
    photo_intake._write(disk, [b"a photo", b"", b" of the fridge"])
    assert disk.getvalue() == b"a photo of the fridge"


# --- what is counted


async def test_uploads_are_counted_by_what_became_of_them(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    person = await person_for(api, step("a", "photo"), step("b"), signature_on_complete=True)
    photo = (await person.upload("a", picture(), op_id="one")).json()["photo"]
    await person.upload("a", picture(), op_id="one")
    await person.upload("a", b"no image")
    await person.upload("a", b"{}", "application/json")
    await person.upload("b", picture())
    await person.draw(drawing())

    async def away(*_: Any) -> None:
        raise StoreUnavailable("no answer")

    async def broken(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(PhotoStore, "put", away)
        await person.upload("a", picture())
        patch.setattr(PhotoStore, "put", broken)
        await person.upload("a", picture())
    text = (await api.anonymous.get("/metrics")).text
    counts = dict(re.findall(r'^checklists_photo_uploads_total\{result="(\w+)"\} (\d+)', text, re.MULTILINE))
    assert counts == {
        "kept": "2",
        "replayed": "1",
        "no_photo": "1",
        "refused": "2",
        "unavailable": "1",
        "broken_off": "0",
        "failed": "1",
    }
    kept = sum(found.size for found in await api.services.photo_store.objects_of(person.run_id) if _is_whole(found.key))
    assert kept > photo["bytes"]
    assert float(re.findall(r"^checklists_photo_bytes_total (\S+)", text, re.MULTILINE)[0]) == kept
    # Two were kept, one was no image, and two met a store that would not have them.
    assert "checklists_photo_processing_seconds_count 5.0" in text


def _is_whole(key: str) -> bool:
    return not key.endswith(".thumbnail.jpg")


# --- many at once, and steps that take none


async def test_of_eight_at_once_as_many_are_kept_as_the_step_takes(api: Api) -> None:
    person = await person_for(api, step("a", "photo", config={"min": 1, "max": 5}))
    answers = await asyncio.gather(*(person.upload("a", picture(color=(7 * n, 0, 0))) for n in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [422] * 3
    assert {answer.json()["details"][0]["code"] for answer in answers if answer.status_code == 422} == {"too_many"}
    assert await indexes(person) == [0, 1, 2, 3, 4]
    assert sorted(answer.json()["photo"]["photo_index"] for answer in answers if answer.status_code == 201) == [
        *range(5)
    ]
    assert await person.events() == ["step.completed"] * 5


async def test_a_step_that_does_not_apply_and_a_person_who_is_unknown_bring_no_photo(api: Api) -> None:
    when = {"when": {"step": "s-b", "op": "eq", "value": False}}
    person = await person_for(api, step("b"), step("a", "photo", condition=when), identity="external")
    for form in ({"content": picture(), "headers": {"Content-Type": "image/jpeg"}}, {"files": {"photo": JPEG}}):
        unknown = await send(person, **form)
        assert (error_of(unknown), paths(unknown)) == ((422, "validation_failed"), ["identity"])
    await person.call("PUT", "/identity", json={"name": "Ada", "email": "ada@example.com"})
    refused = await person.upload("a", picture())
    assert (error_of(refused), refused.json()["details"][0]["code"]) == ((422, "answer_invalid"), "not_applicable")
    await person.answer("b", False)
    assert (await person.upload("a", picture())).status_code == 201
