"""The chapters of the demo, each on a service that is already up."""

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from checklist_dev.bootstrap import NAMESPACE
from checklist_dev.demo.browser import finish_offline
from checklist_dev.demo.person import (
    Json,
    Person,
    drawn_signature,
    new_op,
    photos_needed,
    steps_of,
    taken_photo,
)
from checklist_dev.demo.receiver import Delivery, Receiver
from checklist_dev.demo.transcript import Transcript
from checklist_dev.failures import Failure
from checklist_dev.kubectl import Kubectl

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
    """The caller's side: REST with an API key, a receiver, and kubectl for a second look."""

    def __init__(
        self,
        *,
        rest: httpx.Client,
        receiver: Receiver,
        kubectl: Kubectl,
        transcript: Transcript,
        organization: str,
        retry_gaps: tuple[float, ...],
    ) -> None:
        self._rest = rest
        self._receiver = receiver
        self._kubectl = kubectl
        self._say = transcript
        self._organization = organization
        self._gaps = retry_gaps
        self._small = ""

    def real_checklists(self, folder: Path) -> None:
        """Every example: created, dispatched, answered by its rules, submitted; events verified."""
        paths = sorted(folder.glob("*.json"))
        self._say.chapter(f"1. {len(paths)} checklists that exist in the world")
        self._say.check("there are at least eight of them", len(paths) >= 8, len(paths))
        for path in paths:
            self._one_checklist(json.loads(path.read_text()), path.stem)

    def _one_checklist(self, tdl: Json, name: str) -> None:
        template = self._created("/v1/templates", tdl)
        run = self._dispatch(template["id"], executor_ref=name)
        person = Person(run["link"])
        view = person.look()
        mode = view["executor_identity"]["mode"]
        if mode == "external":
            expect(person.introduce("Sam Example", "sam@example.com"), 200)
        answered, photos = self._answer_all(person)
        signature = None
        if tdl.get("settings", {}).get("signature_on_complete"):
            signature = "Sam Example"
            expect(person.draw_signature(drawn_signature()), 200)
        outcome = person.submit(signature)
        self._say.check(
            f"{name}: {answered} answers, {photos} photos{', signed' if signature else ''}, submitted",
            outcome.status_code == 200,
            outcome.text,
        )
        completed = self._events(run["run_id"], last="run.completed")[-1].envelope["data"]
        self._photos_arrive(name, completed, photos, signature)
        person.close()

    def _open_steps(self, person: Person) -> list[Json]:
        """Steps that apply now and have neither answer nor skip, instructions left out."""
        view = person.look()
        return [
            step
            for step in steps_of(view["template"])
            if step["id"] in view["applicable_steps"]
            and step["id"] not in view["answers"]
            and step["id"] not in view["skipped_steps"]
            and step["type"] != "instruction"
        ]

    def _answer_all(self, person: Person) -> tuple[int, int]:
        """Answer what applies, in order, and look again: an answer may make further steps apply. (answers, photos)"""
        answers = photos = 0
        while steps := self._open_steps(person):
            expect(person.answer(steps[0]), 200)
            for _ in range(photos_needed(steps[0])):
                expect(person.photograph(steps[0], taken_photo(photos)), 201)
                photos += 1
            answers += 1
        return answers, photos

    def _photos_arrive(self, name: str, completed: Json, photos: int, signature: str | None) -> None:
        """Each photo of the event, and the drawing, is served by its signed address."""
        addresses = [photo["url"] for photo in completed["photos"]]
        if signature is not None:
            addresses.append(completed["signature"]["url"])
        if not addresses:
            return
        served = [httpx.get(address, trust_env=False) for address in addresses]
        self._say.check(
            f"{name}: all of them are served by their signed addresses",
            len(completed["photos"]) == photos
            and all(one.status_code == 200 and one.headers["Content-Type"].startswith("image/") for one in served),
            [one.status_code for one in served],
        )

    def _events(self, run_id: str, *, last: str) -> list[Delivery]:
        """Wait for the last event of a run; check order, signatures, and that none came twice."""
        arrived = self._receiver.wait_for(run_id, lambda seen: any(one.event == last for one in seen), within_s=SOON_S)
        total = max((one.envelope["seq"] for one in arrived), default=0)
        arrived = self._receiver.wait_for(run_id, lambda seen: len(seen) >= total, within_s=SOON_S)
        seqs = sorted(one.envelope["seq"] for one in arrived)
        self._say.check(
            f"{len(arrived)} events up to {last}, each once, every signature verified by 25 lines",
            seqs == list(range(1, total + 1)) and total > 0 and all(one.fault is None for one in arrived),
            [(one.event, one.envelope["seq"], one.fault) for one in arrived],
        )
        return arrived

    def a_person_in_a_cellar(self, tdl: Json) -> None:
        """One of the real checklists, answered in a browser without network."""
        self._say.chapter("2. A telephone in a cellar")
        run = self._dispatch(self._created("/v1/templates", tdl)["id"])
        errand = finish_offline(run["link"], tdl)
        self._say.check(
            f"{tdl['name']}: {errand.answered} steps, {errand.photos} photos in a browser, offline from the second on",
            errand.answered > 3 and not errand.problems,
            errand.problems,
        )
        self._say.check(
            "without network, the page says that it is not sent yet",
            "not sent" in errand.said_offline.lower(),
            errand.said_offline,
        )
        self._say.check(
            "with the network back, it sends everything and shows the receipt",
            run["run_id"] in errand.receipt,
            errand.receipt,
        )
        found = self._rest.get(f"/v1/runs/{run['run_id']}").json()
        self._say.check(
            "the caller reads the very answers",
            found["status"] == "completed" and len(found["answers"]) >= errand.answered,
            found["status"],
        )
        self._events(run["run_id"], last="run.completed")

    def retries(self) -> None:
        self._say.chapter("3. The receiver fails twice")
        run = self._dispatch(self._small_template(), events=["run.completed"])
        self._receiver.fail_next(2)
        self._complete(run)
        arrived = self._receiver.wait_for(
            run["run_id"], lambda seen: any(one.status == 204 for one in seen), within_s=sum(self._gaps[:2]) + SOON_S
        )
        self._say.check("it answered 500, 500, 204", [one.status for one in arrived] == [500, 500, 204], arrived)
        attempts = [one.envelope["delivery_attempt"] for one in arrived]
        self._say.check("the attempts were numbered 1, 2, 3", attempts == [1, 2, 3], attempts)
        self._say.check("under one event_id", len({one.envelope["event_id"] for one in arrived}) == 1)
        self._say.check("each with a fresh and valid signature", all(one.fault is None for one in arrived))
        self._await_delivery(run["run_id"], "Delivered", attempt=3)

    def replayed_answer(self) -> None:
        self._say.chapter("4. An answer that is sent twice")
        run = self._dispatch(self._small_template())
        person, op_id = Person(run["link"]), new_op()
        step = steps_of(SMALL)[0]
        expect(person.answer(step, op_id=op_id), 200)
        expect(person.answer(step, op_id=op_id), 200)
        expect(person.skip("s-note"), 200)
        expect(person.submit(), 200)
        arrived = self._events(run["run_id"], last="run.completed")
        kinds = [one.event for one in sorted(arrived, key=lambda one: int(one.envelope["seq"]))]
        self._say.check(
            "the same op_id made one event", kinds == ["step.completed", "step.skipped", "run.completed"], kinds
        )
        person.close()

    def expiry(self) -> None:
        self._say.chapter("5. A link that expires")
        run = self._dispatch(self._small_template(), expires_in_hours=3 / 3600)
        run_id = run["run_id"]
        preview = self._rest.get(f"/v1/runs/{run_id}/preview")
        self._say.check("before: the preview shows it as pending", preview.json()["status"] == "pending", preview.text)
        arrived = self._receiver.wait_for(run_id, bool, within_s=SOON_S)
        self._say.check(
            "run.expired arrived, with nothing answered",
            [one.event for one in arrived] == ["run.expired"]
            and arrived[0].envelope["data"]["progress"]["answered"] == 0,
            arrived,
        )
        self._say.check("the preview is 410 now", self._rest.get(f"/v1/runs/{run_id}/preview").status_code == 410)
        self._say.check("the run is expired", self._run(run_id)["status"] == "expired")
        person = Person(run["link"])
        late = person.answer(steps_of(SMALL)[0])
        self._say.check("an answer is too late: 410 run_expired", late.json().get("error") == "run_expired", late.text)
        person.close()

    def cancellation(self) -> None:
        self._say.chapter("6. A run that the owner cancels")
        run = self._dispatch(self._small_template())
        response = self._rest.post(f"/v1/runs/{run['run_id']}/cancel", json={})
        self._say.check("the owner cancels it", response.status_code == 200, response.text)
        arrived = self._events(run["run_id"], last="run.cancelled")
        reason = arrived[-1].envelope["data"]["reason"]
        self._say.check("the event says who did it", reason == "cancelled_by_owner", reason)

    def kubernetes(self) -> None:
        self._say.chapter("7. The same things with kubectl")
        run = self._dispatch(self._small_template())
        self._complete(run)
        name = run["run_id"]
        self._kubectl("wait", "--for=condition=Completed", f"run/{name}", "-n", NAMESPACE, "--timeout=20s")
        self._say.check("kubectl wait --for=condition=Completed returns", True)
        made = f"r-{uuid.uuid4()}"
        body = {
            "apiVersion": "checklists.dev/v1",
            "kind": "Run",
            "metadata": {"name": made, "namespace": NAMESPACE},
            "spec": {"templateId": self._small_template(), "executorRef": "made with kubectl"},
        }
        self._kubectl("apply", "-f", "-", stdin=json.dumps(body))
        self._kubectl("wait", "--for=condition=Admitted", f"run/{made}", "-n", NAMESPACE, "--timeout=20s")
        seen = self._run(made)
        self._say.check(
            "a run made with kubectl is admitted and readable by REST",
            seen["executor_ref"] == "made with kubectl" and seen["status"] == "pending",
            seen,
        )

    def quota(self) -> None:
        self._say.chapter("8. The quota")
        used = expect(self._rest.get("/v1/usage"), 200)["used"]
        self._plan(used + 2)
        codes = [self._try_dispatch().status_code for _ in range(2)]
        refused = self._try_dispatch()
        self._say.check("two more runs are allowed", codes == [201, 201], codes)
        self._say.check("the third is refused: 402 quota_exceeded", refused.status_code == 402, refused.text)
        details = refused.json()["details"]
        self._say.check(
            "it says how many were used", (details["limit"], details["used"]) == (used + 2, used + 2), details
        )
        self._plan(None)

    # -- what the chapters share -------------------------------------------------------------------------------

    def _small_template(self) -> str:
        if not self._small:
            self._small = self._created("/v1/templates", SMALL)["id"]
        return self._small

    def _created(self, path: str, body: Mapping[str, Any]) -> Json:
        return expect(self._rest.post(path, json=body), 201)

    def _dispatch(self, template_id: str, *, events: list[str] | None = None, **more: Any) -> Json:
        webhook = {"url": f"{self._receiver.url}/hooks", "secret": self._receiver.secret, "events": events or ["*"]}
        return self._created("/v1/runs", {"template_id": template_id, "webhook": webhook, **more})

    def _try_dispatch(self) -> httpx.Response:
        return self._rest.post("/v1/runs", json={"template_id": self._small_template()})

    def _run(self, run_id: str) -> Json:
        return expect(self._rest.get(f"/v1/runs/{run_id}"), 200)

    def _complete(self, run: Json) -> None:
        person = Person(run["link"])
        expect(person.answer(steps_of(SMALL)[0]), 200)
        expect(person.submit(), 200)
        person.close()

    def _plan(self, runs_per_month: int | None) -> None:
        patch = {"spec": {"plan": {"runsPerMonth": runs_per_month}}}
        self._kubectl("patch", "clorg", self._organization, "--type", "merge", "-p", json.dumps(patch))

    def _await_delivery(self, run_id: str, phase: str, *, attempt: int) -> None:
        """The WebhookDelivery of the run, as kubectl shows it, reaches `phase`."""
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


def expect(response: httpx.Response, status: int) -> Json:
    """The body of a response that must have `status`. Raises Failure with what came instead."""
    if response.status_code != status:
        request = response.request
        raise Failure(f"{request.method} {request.url.path} answered {response.status_code}: {response.text[:500]}")
    body: Json = response.json() if response.content else {}
    return body
