"""History and replay from end to end: the real API and the real operator, with a receiver on a socket between them."""

from itertools import pairwise
from typing import Any

import httpx
from tests.cluster.operator_lab import WEBHOOK_SECRET, Delivered, Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import failed, made_failed
from tests.waiting import eventually

Json = dict[str, Any]


async def read(rest: httpx.AsyncClient, path: str, **query: str) -> Json:
    response = await rest.get(path, params=query)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def until_shown(rest: httpx.AsyncClient, event_id: str, **wanted: Any) -> Json:
    """The delivery as soon as these of its fields are so."""

    async def look() -> Json | None:
        shown = await read(rest, f"/v1/deliveries/{event_id}")
        return shown if shown | wanted == shown else None

    found: Json = await eventually(look)
    return found


async def test_what_failed_for_good_is_delivered_by_a_replay_and_the_history_tells_all_of_it(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, rest: httpx.AsyncClient
) -> None:
    run, event_id = await failed(lab, receiver)
    before = await until_shown(rest, event_id, status="failed", replayable=True)
    assert [(each["number"], each["http_status"], each["manual"]) for each in before["attempts"]] == [
        (number, 500, False) for number in range(1, 6)
    ]
    receiver.answer = lambda _: 204
    assert (await rest.post(f"/v1/deliveries/{event_id}/replay")).status_code == 202
    after = await until_shown(rest, event_id, status="delivered", replayable=True)
    assert after["attempts"][:5] == before["attempts"]
    [manual] = after["attempts"][5:]
    assert (manual["number"], manual["http_status"], manual["manual"]) == (5, 204, True)
    assert after["last_replay"]["requested_by"] == "Acme"
    assert after["last_replay"]["outcome"] == "success"
    first, *_, last = [one for one in receiver.received if one.envelope["event_id"] == event_id]
    assert last.envelope | {"delivery_attempt": 1} == first.envelope
    assert last.headers["Signature"] != first.headers["Signature"]

    async def listed() -> bool:
        return bool((await read(rest, f"/v1/runs/{run}/deliveries"))["data"] == [after])

    await eventually(listed)
    [endpoint] = (await read(rest, "/v1/endpoints"))["data"]
    assert (endpoint["host"], endpoint["attempts"], endpoint["success_rate"]) == ("127.0.0.1", 6, round(1 / 6, 4))
    assert (endpoint["failed"], endpoint["pending"], endpoint["last_error"]["http_status"]) == (0, 0, 500)
    for path in ("/v1/deliveries", f"/v1/deliveries/{event_id}", "/v1/endpoints"):
        assert WEBHOOK_SECRET not in (await rest.get(path)).text


async def test_the_history_is_what_the_receiver_saw_attempt_by_attempt(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, rest: httpx.AsyncClient
) -> None:
    runs = [await lab.dispatch(receiver.url) for _ in range(6)]
    failures = dict(zip(runs, range(6), strict=True))
    answered: dict[str, list[int]] = {}

    def answer(one: Delivered) -> int:
        event, attempt = one.envelope, one.envelope["delivery_attempt"]
        status = 200 + attempt if attempt > failures[event["run_id"]] else (500, 404, 302)[attempt % 3]
        answered.setdefault(event["event_id"], []).append(status)
        return status

    receiver.answer = answer
    for run in runs:
        await lab.answer(run)
        await lab.cancel(run)
    for run in runs:
        await lab.until_settled(run)

    async def all_ended() -> list[Json] | None:
        found = list((await read(rest, "/v1/deliveries"))["data"])
        return found if len(found) == 12 and all(each["finished_at"] for each in found) else None

    found = await eventually(all_ended)
    for delivery in found:
        attempts = delivery["attempts"]
        assert [attempt["http_status"] for attempt in attempts] == answered[delivery["event_id"]]
        assert [attempt["number"] for attempt in attempts] == list(range(1, len(attempts) + 1))
        assert delivery["attempts_made"] == len(attempts) == min(failures[delivery["run_id"]] + 1, 5)
        assert delivery["status"] == ("failed" if failures[delivery["run_id"]] == 5 else "delivered")
        assert not any(attempt["manual"] for attempt in attempts)
        for before, after in pairwise(attempts):
            assert before["outcome"] == f"http_{before['http_status'] // 100}xx"
            assert before["started_at"] < before["next_attempt_at"] <= after["started_at"]
        assert attempts[-1]["next_attempt_at"] is None
    assert sum(len(each["attempts"]) for each in found) == len(receiver.received)
    [endpoint] = (await read(rest, "/v1/endpoints"))["data"]
    assert (endpoint["attempts"], endpoint["deliveries"], endpoint["failed"]) == (len(receiver.received), 12, 2)
    assert endpoint["success_rate"] == round(10 / len(receiver.received), 4)


async def test_what_was_delivered_at_once_is_sent_again_where_the_final_run_still_says_it(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, rest: httpx.AsyncClient
) -> None:
    run = await lab.dispatch(receiver.url)
    await lab.answer(run)
    await lab.submit(run)
    await lab.until_settled(run)

    async def both_delivered() -> list[Json] | None:
        found = (await read(rest, f"/v1/runs/{run}/deliveries"))["data"]
        return found if [each["status"] for each in found] == ["delivered"] * 2 else None

    step, final = await eventually(both_delivered)
    refused = await rest.post(f"/v1/deliveries/{step['event_id']}/replay")
    assert (refused.status_code, refused.json()["error"]) == (409, "payload_not_kept")
    key = {"Idempotency-Key": "once-more"}
    for _ in range(2):
        assert (await rest.post(f"/v1/deliveries/{final['event_id']}/replay", headers=key)).status_code == 202
    await eventually(lambda: len(receiver.received) >= 3)
    shown = await until_shown(rest, final["event_id"], status="delivered", replayable=True)
    assert [attempt["manual"] for attempt in shown["attempts"]] == [False, True]
    sent = [one.envelope for one in receiver.received if one.envelope["event_id"] == final["event_id"]]
    assert len(sent) == 2
    assert sent[0] == sent[1]


async def test_after_an_outage_everything_that_failed_is_sent_again_and_the_progress_adds_up(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, rest: httpx.AsyncClient
) -> None:
    run = await lab.dispatch(receiver.url)
    names = await made_failed(lab, run, receiver.url, 12)
    hopeless = set(names[:3])
    receiver.answer = lambda one: 500 if one.envelope["event_id"] in hopeless else 200

    async def all_listed() -> bool:
        return bool((await read(rest, "/v1/deliveries", status="failed"))["pagination"]["total"] == 12)

    await eventually(all_listed)

    async def ended(path: str) -> Json | None:
        shown = await read(rest, path)
        return shown if shown["status"] == "completed" else None

    counted = await rest.post("/v1/deliveries/replay", json={"filter": {"run_id": run}, "dry_run": True})
    dry = await eventually(lambda: ended(counted.headers["Location"]))
    assert (counted.status_code, dry["total"], dry["delivered"], dry["failed"]) == (202, 12, 0, 0)
    assert receiver.received == []
    asked = await rest.post("/v1/deliveries/replay", json={"filter": {"run_id": run, "host": "127.0.0.1"}})
    done = await eventually(lambda: ended(asked.headers["Location"]))
    assert [done[name] for name in ("total", "done", "delivered", "failed", "refused")] == [12, 12, 9, 3, 0]
    assert sorted(one.envelope["event_id"] for one in receiver.received) == sorted(names)

    async def listed_so() -> bool:
        found = (await read(rest, "/v1/deliveries", status="failed"))["data"]
        return {each["event_id"] for each in found} == hopeless

    await eventually(listed_so)
    assert {each["replay_id"] for each in (await read(rest, "/v1/deliveries/replays"))["data"]} == {
        dry["replay_id"],
        done["replay_id"],
    }
