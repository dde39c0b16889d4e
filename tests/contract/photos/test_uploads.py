"""Photos through the executor API in both stores, a folder and S3 (contract sections 4 and 6)."""

import hashlib
from io import BytesIO

from PIL import Image
from tests.contract.conftest import EACH_STORE, Api
from tests.contract.executor_client import error_of, person_for, step
from tests.contract.pictures import drawing, photo_of_a_camera, picture

pytestmark = EACH_STORE


async def test_a_photo_is_kept_once_and_can_be_fetched(api: Api) -> None:
    person = await person_for(api, step("a", "photo", required=True), step("b", "photo"))
    response = await person.upload("a", picture(), op_id="one")
    assert response.status_code == 201, response.text
    change = response.json()
    photo = change["photo"]
    assert change["answer"]["photos"] == [photo]
    assert (change["status"], change["progress"]["answered"], change["replayed"]) == ("in_progress", 1, False)
    assert (photo["photo_index"], photo["content_type"]) == (0, "image/jpeg")
    assert (photo["width"], photo["height"], photo["captured_at"], photo["distance_m"]) == (640, 480, None, None)
    served = await person.fetch(photo["url"])
    assert (served.status_code, len(served.content)) == (200, photo["bytes"])
    assert hashlib.sha256(served.content).hexdigest() == photo["sha256"]
    assert Image.open(BytesIO(served.content)).size == (640, 480)
    thumbnail = await person.fetch(photo["thumbnail_url"])
    assert max(Image.open(BytesIO(thumbnail.content)).size) == 320
    assert await person.events() == ["step.completed"]
    again = await person.upload("a", picture(), op_id="one")
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    assert (again.json()["photo"]["photo_index"], again.json()["photo"]["sha256"]) == (0, photo["sha256"])
    assert error_of(await person.upload("b", picture(), op_id="one")) == (422, "idempotency_key_reused")
    assert len(await person.photo_objects()) == 2
    assert list(api.services.settings.upload_folder.glob("checklist-dispatch-uploads-*/*")) == []


async def test_what_a_photo_says_of_itself_becomes_data_and_is_not_served(api: Api) -> None:
    person = await person_for(api, step("a", "photo", geo=True))
    await person.answer("a", None, geo={"lat": 52.501, "lng": 13.4, "accuracy_m": 5})
    photo = (await person.upload("a", photo_of_a_camera())).json()["photo"]
    seen = (await api.http.get(f"/v1/runs/{person.run_id}")).json()["answers"]["s-a"]["photos"][0]
    for each in (photo, seen):
        assert (each["captured_at"], each["captured_at_zone"]) == ("2026-11-21T12:30:00.000Z", "stated")
        assert 105 <= each["distance_m"] <= 117
    assert (photo["width"], photo["height"]) == (480, 640)
    served = await person.fetch(photo["url"])
    assert not Image.open(BytesIO(served.content)).getexif()
    assert b"Camera Works" not in served.content


async def test_a_photo_is_served_so_that_it_can_be_nothing_but_an_image(api: Api) -> None:
    person = await person_for(api, step("a", "photo"), step("c", "signature"))
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
    drawn = (await person.upload("c", drawing(), "image/png")).json()
    assert (drawn["progress"]["answered"], drawn["answer"]["value"]) == (1, None)
    signed = (await person.answer("c", {"name": "Ada"})).json()["answer"]
    assert (signed["value"]["name"], signed["photos"]) == ("Ada", [])
    served = await person.fetch(signed["value"]["url"])
    assert (served.status_code, served.headers["Content-Type"]) == (200, "image/png")
