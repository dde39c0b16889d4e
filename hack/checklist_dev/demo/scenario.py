"""The chapters of the demo, each on a running service."""

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Any

import httpx

from checklist_dev.browser.stage import Link, Stage
from checklist_dev.demo.agent import ask_a_person
from checklist_dev.demo.browser import finish_offline
from checklist_dev.demo.kubectl_alone import human_step
from checklist_dev.demo.person import Json, drawn_signature, photos_needed, plausible_value, steps_of, taken_photo
from checklist_dev.demo.transcript import Transcript
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.receiver import Delivery

SOON_S = 20.0
SMALL: Json = {
    "name": "Two questions",
    "settings": {"allow_skip": True},
    "sections": [
        {
            "id": "g-1",
            "title": "Questions",
            "steps": [
                {"id": "s-ok", "type": "boolean", "label": "Is it in order?", "required": True},
                {"id": "s-note", "type": "text", "label": "Anything to remark?"},
            ],
        }
    ],
}


class Scenario:
    """Acts as the caller: REST with an API key, a webhook receiver, and kubectl to compare."""

    def __init__(self, stage: Stage, transcript: Transcript, retry_gaps: tuple[float, ...]) -> None:
        self._stage = stage
        self._rest = stage.rest
        self._receiver = stage.receiver
        self._kubectl = stage.service.cluster.run_kubectl
        self._say = transcript
        self._gaps = retry_gaps
        self._small = self._rest.create_template(SMALL)

    def real_checklists(self, folder: Path) -> None:
        """Create, dispatch, answer and submit every example, and verify its events."""
        paths = sorted(folder.glob("*.json"))
        self._say.chapter(f"1. {len(paths)} real checklists")
        self._say.check("there are at least eight of them", len(paths) >= 8, len(paths))
        for path in paths:
            self._one_checklist(json.loads(path.read_text()), path.stem)

    def _one_checklist(self, tdl: Json, name: str) -> None:
        link = self._stage.dispatch(tdl, executor_ref=name)
        if self._look(link)["executor_identity"]["mode"] == "external":
            self._stage.execute(link, "PUT", "/identity", json={"name": "Sam Example", "email": "sam@example.com"})
        answered, photos = self._answer_all(link)
        signature = None
        if tdl.get("settings", {}).get("signature_on_complete"):
            signature = "Sam Example"
            drawing = {"content": drawn_signature(), "headers": {"Content-Type": "image/png"}}
            self._stage.execute(link, "PUT", "/signature", **drawing)
        self._submit(link, signature)
        self._say.note(f"{name}: {answered} answers, {photos} photos{', signed' if signature else ''}, submitted")
        completed = self._events(link.run_id, last="run.completed")[-1].envelope["data"]
        self._photos_arrive(name, completed, photos, signature)

    def _look(self, link: Link) -> Json:
        """The checklist with its current answers."""
        return self._stage.execute(link, "GET", "")

    def _answer(self, link: Link, step: Json, **more: Any) -> None:
        """Give the plausible answer to a step."""
        body: Json = {"value": plausible_value(step), **more}
        if step.get("geo"):
            body["geo"] = {"lat": 52.52, "lng": 13.405, "accuracy_m": 8}
        self._stage.execute(link, "PUT", f"/answers/{step['id']}", json=body)

    def _submit(self, link: Link, signature: str | None = None) -> None:
        body = {"signature": {"name": signature}} if signature else {}
        self._stage.execute(link, "POST", "/submit", json=body)

    def _answer_all(self, link: Link) -> tuple[int, int]:
        """Answer applicable steps in order, reading the run after each; returns (answers, photos)."""
        answers = photos = 0
        while steps := _open_steps(self._look(link)):
            self._answer(link, steps[0])
            for _ in range(photos_needed(steps[0])):
                photo = {"content": taken_photo(photos), "headers": {"Content-Type": "image/jpeg"}}
                self._stage.execute(link, "POST", f"/answers/{steps[0]['id']}/photos", **photo)
                photos += 1
            answers += 1
        return answers, photos

    def _photos_arrive(self, name: str, completed: Json, photos: int, signature: str | None) -> None:
        """Check that each photo of the event, and the drawing, is served by its signed URL."""
        addresses = [photo["url"] for photo in completed["photos"]]
        if signature is not None:
            addresses.append(completed["signature"]["url"])
        if not addresses:
            return
        served = [httpx.get(address, trust_env=False) for address in addresses]
        self._say.check(
            f"{name}: all photos are served by their signed URLs",
            len(completed["photos"]) == photos
            and all(one.status_code == 200 and one.headers["Content-Type"].startswith("image/") for one in served),
            [one.status_code for one in served],
        )

    def _events(self, run_id: str, *, last: str) -> list[Delivery]:
        """Wait for the last event of a run; check order, signatures and uniqueness."""
        arrived = self._receiver.wait_for(run_id, lambda seen: any(one.event == last for one in seen), within_s=SOON_S)
        total = max((one.envelope["seq"] for one in arrived), default=0)
        arrived = self._receiver.wait_for(run_id, lambda seen: len(seen) >= total, within_s=SOON_S)
        seqs = sorted(one.envelope["seq"] for one in arrived)
        self._say.check(
            f"{len(arrived)} events up to {last}, each once and with a valid signature",
            seqs == list(range(1, total + 1)) and total > 0 and all(one.fault is None for one in arrived),
            [(one.event, one.envelope["seq"], one.fault) for one in arrived],
        )
        return arrived

    def a_person_in_a_cellar(self, tdl: Json) -> None:
        """Answer a real checklist in a browser without network."""
        self._say.chapter("2. A phone without network")
        link = self._stage.dispatch(tdl)
        errand = finish_offline(link.url, tdl)
        self._say.check(
            f"{tdl['name']}: {errand.answered} steps, {errand.photos} photos in a browser, offline from the second on",
            errand.answered > 3 and not errand.problems,
            errand.problems,
        )
        self._say.check(
            "offline, the page says that the run is not sent yet",
            "not sent" in errand.said_offline.lower(),
            errand.said_offline,
        )
        self._say.check(
            "online again, it sends everything and shows the receipt",
            link.run_id in errand.receipt,
            errand.receipt,
        )
        found = self._stage.run(link)
        self._say.check(
            "the caller reads the same answers",
            found["status"] == "completed" and len(found["answers"]) >= errand.answered,
            found["status"],
        )
        self._events(link.run_id, last="run.completed")

    def retries(self) -> None:
        self._say.chapter("3. The receiver fails twice")
        link = self._stage.dispatch(self._small, events=["run.completed"])
        self._receiver.fail_next(2)
        self._complete(link)
        arrived = self._receiver.wait_for(
            link.run_id, lambda seen: any(one.status == 204 for one in seen), within_s=sum(self._gaps[:2]) + SOON_S
        )
        self._say.check("it answered 500, 500, 204", [one.status for one in arrived] == [500, 500, 204], arrived)
        attempts = [one.envelope["delivery_attempt"] for one in arrived]
        self._say.check("the attempts were numbered 1, 2, 3", attempts == [1, 2, 3], attempts)
        self._say.check("under one event_id", len({one.envelope["event_id"] for one in arrived}) == 1)
        self._say.check("each with a fresh and valid signature", all(one.fault is None for one in arrived))
        self._await_delivery(link.run_id, "Delivered", attempt=3)

    def repeated_answer(self) -> None:
        self._say.chapter("4. An answer that is sent twice")
        link, op_id = self._stage.dispatch(self._small), str(uuid.uuid4())
        for _ in range(2):
            self._answer(link, steps_of(SMALL)[0], op_id=op_id)
        self._stage.execute(link, "POST", "/steps/s-note/skip", json={})
        self._submit(link)
        arrived = self._events(link.run_id, last="run.completed")
        kinds = [one.event for one in sorted(arrived, key=lambda one: int(one.envelope["seq"]))]
        self._say.check(
            "the same op_id made one event", kinds == ["step.completed", "step.skipped", "run.completed"], kinds
        )

    def expiry(self) -> None:
        self._say.chapter("5. A link that expires")
        link = self._stage.dispatch(self._small, expires_in_hours=3 / 3600)
        run_id = link.run_id
        preview = self._rest.ask("GET", f"/v1/runs/{run_id}/preview")
        self._say.check("before: the preview shows it as pending", preview.json()["status"] == "pending", preview.text)
        arrived = self._receiver.wait_for(run_id, bool, within_s=SOON_S)
        self._say.check(
            "run.expired arrived, without answers",
            [one.event for one in arrived] == ["run.expired"]
            and arrived[0].envelope["data"]["progress"]["answered"] == 0,
            arrived,
        )
        preview = self._rest.ask("GET", f"/v1/runs/{run_id}/preview")
        self._say.check("the preview is 410 now", preview.status_code == 410)
        self._say.check("the run is expired", self._stage.run(link)["status"] == "expired")
        late = self._stage.anonymous.ask(
            "PUT",
            f"/v1/executor/runs/{run_id}/answers/s-ok",
            json={"value": True},
            headers={"Authorization": f"Executor {link.token}"},
        )
        self._say.check("an answer is too late: 410 run_expired", late.json().get("error") == "run_expired", late.text)

    def cancellation(self) -> None:
        self._say.chapter("6. The owner cancels a run")
        link = self._stage.dispatch(self._small)
        self._stage.cancel(link)
        arrived = self._events(link.run_id, last="run.cancelled")
        reason = arrived[-1].envelope["data"]["reason"]
        self._say.check("the event names the reason", reason == "cancelled_by_owner", reason)

    def kubernetes(self) -> None:
        self._say.chapter("7. The same things with kubectl")
        link = self._stage.dispatch(self._small)
        self._complete(link)
        name = link.run_id
        self._kubectl("wait", "--for=condition=Completed", f"run/{name}", "-n", NAMESPACE, "--timeout=20s")
        self._say.check("kubectl wait --for=condition=Completed returns", True)

    def agent(self) -> None:
        self._say.chapter("8. An agent asks a person")
        asyncio.run(ask_a_person(self._stage, self._say, self._answer_for_agent))

    def kubectl_alone(self) -> None:
        self._say.chapter("9. A human step with kubectl alone")
        run_id = human_step(self._kubectl, self._say, self._small, "s-ok", self._complete_by_link)
        seen = self._rest.call("GET", f"/v1/runs/{run_id}")
        self._say.check(
            "REST reads it by its id",
            (seen["executor_ref"], seen["status"]) == ("made with kubectl", "completed"),
            seen,
        )

    def _complete_by_link(self, run_id: str, link: str) -> None:
        self._complete(Link(run_id, link))

    def _answer_for_agent(self, run_id: str) -> int:
        """Get the link as the agent's user, answer and submit; return the number of answers."""
        link = Link(run_id, self._rest.call("GET", f"/v1/runs/{run_id}/link")["link"])
        answers, _ = self._answer_all(link)
        self._submit(link)
        return answers

    def quota(self) -> None:
        self._say.chapter("10. The quota")
        used = self._rest.call("GET", "/v1/usage")["used"]
        self._plan(used + 2)
        codes = [self._try_dispatch().status_code for _ in range(2)]
        refused = self._try_dispatch()
        self._say.check("two more runs are allowed", codes == [201, 201], codes)
        self._say.check("the third is refused: 402 quota_exceeded", refused.status_code == 402, refused.text)
        details = refused.json()["details"]
        self._say.check(
            "the error contains the number of used runs",
            (details["limit"], details["used"]) == (used + 2, used + 2),
            details,
        )
        self._plan(None)

    def _try_dispatch(self) -> httpx.Response:
        return self._rest.ask("POST", "/v1/runs", json={"template_id": self._small})

    def _complete(self, link: Link) -> None:
        self._answer(link, steps_of(SMALL)[0])
        self._submit(link)

    def _plan(self, runs_per_month: int | None) -> None:
        patch = {"spec": {"plan": {"runsPerMonth": runs_per_month}}}
        self._kubectl(
            "patch", "clorg", self._stage.service.account.organization_id, "--type", "merge", "-p", json.dumps(patch)
        )

    def _await_delivery(self, run_id: str, phase: str, *, attempt: int) -> None:
        """Wait until kubectl shows the WebhookDelivery of the run in `phase`."""
        deadline = time.monotonic() + SOON_S
        while True:
            listed = json.loads(
                self._kubectl(
                    "get", "cldel", "-n", NAMESPACE, "--field-selector", f"spec.runRef.name={run_id}", "-o", "json"
                )
            )["items"]
            status = listed[0].get("status", {}) if listed else {}
            if status.get("phase") == phase or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        self._say.check(
            f"kubectl get cldel shows it {phase} at attempt {attempt}",
            (status.get("phase"), status.get("attempt")) == (phase, attempt),
            status,
        )


def _open_steps(view: Json) -> list[Json]:
    """Applicable steps without answer or skip, except instructions."""
    return [
        step
        for step in steps_of(view["template"])
        if step["id"] in view["applicable_steps"]
        and step["id"] not in view["answers"]
        and step["id"] not in view["skipped_steps"]
        and step["type"] != "instruction"
    ]
