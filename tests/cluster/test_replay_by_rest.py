"""History and replay from end to end: the real API and the real operator, with a receiver on a socket between them."""

from typing import Any

import httpx
from tests.cluster.operator_lab import WEBHOOK_SECRET, Lab, OperatorProcess, Receiver
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

    return await eventually(look)


async def test_what_failed_for_good_is_delivered_by_a_replay_and_the_history_shows_all_of_it(
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


async def test_after_an_outage_everything_that_failed_is_sent_again_and_the_progress_adds_up(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, rest: httpx.AsyncClient
) -> None:
    run = await lab.dispatch(receiver.url)
    names = await made_failed(lab, run, receiver.url, 12)
    hopeless = set(names[:3])
    receiver.answer = lambda one: 500 if one.envelope["event_id"] in hopeless else 200

    async def failed_are(wanted: set[str]) -> bool:
        return {each["event_id"] for each in (await read(rest, "/v1/deliveries", status="failed"))["data"]} == wanted

    async def ended(**wanted: Any) -> Json:
        """The replay as soon as it has ended."""

        async def look() -> Json | None:
            shown = await read(rest, asked.headers["Location"])
            return shown if shown["status"] == "completed" else None

        asked = await rest.post("/v1/deliveries/replay", json=wanted)
        assert asked.status_code == 202
        return await eventually(look)

    await eventually(lambda: failed_are(set(names)))
    dry = await ended(filter={"run_id": run}, dry_run=True)
    assert [dry[name] for name in ("total", "delivered", "failed")] == [12, 0, 0]
    assert receiver.received == []
    done = await ended(filter={"run_id": run, "host": "127.0.0.1"})
    assert [done[name] for name in ("total", "done", "delivered", "failed", "refused")] == [12, 12, 9, 3, 0]
    assert sorted(one.envelope["event_id"] for one in receiver.received) == sorted(names)
    await eventually(lambda: failed_are(hopeless))
    shown = (await read(rest, "/v1/deliveries/replays"))["data"]
    assert {each["replay_id"] for each in shown} == {dry["replay_id"], done["replay_id"]}
