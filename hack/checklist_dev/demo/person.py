"""A scripted person who answers a checklist through its link, as the page in the browser does."""

import io
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from PIL import Image, ImageDraw

Json = dict[str, Any]


class Person:
    """Knows nothing but the link. Methods return the response, whatever its status."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.run_id = parts.path.rsplit("/", 1)[1]
        prefix = parts.path.removesuffix(f"/r/{self.run_id}")
        self._path = f"{prefix}/v1/executor/runs/{self.run_id}"
        self._client = httpx.Client(
            base_url=f"{parts.scheme}://{parts.netloc}",
            headers={"Authorization": f"Executor {parts.fragment}"},
            timeout=30,
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()

    def look(self) -> Json:
        """The checklist with all that was answered so far."""
        response = self._client.get(self._path)
        response.raise_for_status()
        view: Json = response.json()
        return view

    def introduce(self, name: str, email: str) -> httpx.Response:
        return self._client.put(f"{self._path}/identity", json={"name": name, "email": email, "op_id": new_op()})

    def answer(self, step: Json, *, op_id: str | None = None) -> httpx.Response:
        """Give the plausible answer to a step."""
        body: Json = {"value": plausible_value(step), "op_id": op_id or new_op()}
        if step.get("geo"):
            body["geo"] = {"lat": 52.52, "lng": 13.405, "accuracy_m": 8}
        return self._client.put(f"{self._path}/answers/{step['id']}", json=body)

    def photograph(self, step: Json, photo: bytes) -> httpx.Response:
        return self._client.post(
            f"{self._path}/answers/{step['id']}/photos",
            params={"op_id": new_op()},
            content=photo,
            headers={"Content-Type": "image/jpeg"},
        )

    def draw_signature(self, drawing: bytes) -> httpx.Response:
        return self._client.put(
            f"{self._path}/signature",
            params={"op_id": new_op()},
            content=drawing,
            headers={"Content-Type": "image/png"},
        )

    def skip(self, step_id: str) -> httpx.Response:
        return self._client.post(f"{self._path}/steps/{step_id}/skip", json={"op_id": new_op()})

    def submit(self, signature: str | None = None) -> httpx.Response:
        body: Json = {"op_id": new_op()}
        if signature:
            body["signature"] = {"name": signature}
        return self._client.post(f"{self._path}/submit", json=body)

    def cancel(self, reason: str) -> httpx.Response:
        return self._client.post(f"{self._path}/cancel", json={"op_id": new_op(), "reason": reason})


def new_op() -> str:
    return str(uuid.uuid4())


def steps_of(template: Mapping[str, Any]) -> list[Json]:
    """All steps of a TDL document, in order."""
    return [step for section in template["sections"] for step in section["steps"]]


def photos_needed(step: Json) -> int:
    """How many photos the step cannot be answered without."""
    if step["type"] == "photo":
        return max(1, int((step.get("config") or {}).get("min", 1)))
    return int(step["photo"].get("min", 0)) if isinstance(step.get("photo"), dict) else 0


def taken_photo(number: int) -> bytes:
    """A JPEG of 640 x 480 pixels in a colour of its own."""
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), ((37 * number) % 256, (91 * number) % 256, 128)).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def drawn_signature() -> bytes:
    """A PNG with a line, as the signature pad sends it."""
    picture = Image.new("RGBA", (400, 160), (255, 255, 255, 0))
    ImageDraw.Draw(picture).line([(20, 120), (120, 30), (180, 130), (380, 60)], fill=(20, 20, 60, 255), width=4)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def plausible_value(step: Json) -> Any:
    """An answer that fits the step's type and bounds."""
    config = step.get("config") or {}
    match step["type"]:
        case "boolean":
            return True
        case "number":
            low, high = config.get("min", 0), config.get("max", config.get("min", 0) + 10)
            return round((low + high) / 2, config.get("decimal", 0)) if config.get("decimal") else round(low)
        case "choice":
            return config["options"][0]["id"]
        case "multi_choice":
            wanted = max(1, config.get("min_selected", 1))
            return [option["id"] for option in config["options"][:wanted]]
        case "rating":
            return config.get("max", 5)
        case "date":
            return "2026-11-21"
        case "time":
            return "13:50"
        case "datetime":
            return "2026-11-21T13:50:00Z"
        case "signature":
            return {"name": "Sam Example"}
        case "scan":
            return "4006381333931"
        case "photo":
            return None
        case _:
            return "As expected."
