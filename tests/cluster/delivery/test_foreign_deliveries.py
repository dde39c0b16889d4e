"""Deliveries that no operator of ours made whole: by a person, to have the operator sign for a URL of theirs, or by one
that was killed; and names that lead into our own network."""

import asyncio
import json
import uuid
from datetime import timedelta
from typing import Any

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver, StartOperator, condition
from tests.cluster.replay_lab import delivery_body, made_failed, until, verdict
from tests.delivery.name_server import NameServer, Reply, addresses

from checklist_crds.ids import object_id
from checklist_crds.resources.delivery_records import DeliveryPhase
from checklist_crds.resources.kinds import RUN, WEBHOOK_DELIVERY
from checklist_crds.times import format_timestamp, utc_now
from checklist_operator.attempts.delivery_objects import DeliveryObjects
from checklist_operator.attempts.schedule import RetrySchedule
from checklist_operator.runtime.fresh_reads import FreshReads


async def made_by_hand(lab: Lab, run: str, url: str, *, organization: str | None = None, photo: str = "") -> str:
    """A delivery of `run` to `url` whose second attempt is due; its name."""
    name, now = f"evt-{uuid.uuid4()}", format_timestamp(utc_now())
    data = {"photos": [{"url": photo, "thumbnail": None}]} if photo else {}
    message = {"event_id": name, "event": "run.completed", "run_id": run, "data": data, "seq": 1}
    attempt = {"number": 1, "startedAt": now, "durationMs": 3, "outcome": "http_5xx"}
    status = {"phase": "Pending", "attempt": 1, "attempts": [attempt], "nextAttemptAt": now}
    body = delivery_body(lab, message, url, now)
    if organization is not None:
        body["spec"]["organizationRef"]["name"] = organization
    await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
    await lab.client.patch_status(WEBHOOK_DELIVERY, name, status, lab.namespace)
    return name


async def test_nothing_is_signed_for_another_url_than_the_run_s(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    run = await lab.dispatch("https://hooks.example.com/")
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Failed"
    verdict_on_it = condition(body, "Delivered")
    assert (verdict_on_it["status"], verdict_on_it["reason"]) == ("False", "ForeignTarget")
    (failed,) = await made_failed(lab, run, receiver.url, 1)
    assert await verdict(lab, failed) == ("False", "ForeignTarget")
    assert (await lab.get(WEBHOOK_DELIVERY, failed))["status"]["phase"] == "Failed"
    name = await made_by_hand(lab, await lab.dispatch(receiver.url), receiver.url, organization="another")
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert condition(body, "Delivered")["reason"] == "ForeignTarget"
    assert receiver.received == []

    # The same URL written in another way is the same.
    run = await lab.dispatch(receiver.url.replace("http:", "HTTP:").replace("/hook", "/./hook"))
    name = await made_by_hand(lab, run, receiver.url)
    body = await until(lab, name, lambda one: one["status"].get("settled"))
    assert body["status"]["phase"] == "Delivered"
    assert [one.envelope["event_id"] for one in receiver.received] == [name]

    # No photo of another organization or run gets a signed URL.
    own = object_id("org", lab.organization)
    for folder in (f"{object_id('org', 'another')}/{run}", f"{own}/r-{uuid.uuid4()}"):
        photo = f"photos/{folder}/{uuid.uuid4()}"
        name = await made_by_hand(lab, run, receiver.url, photo=photo)
        await until(lab, name, lambda one: one["status"].get("settled"))
        assert receiver.received[-1].envelope["data"]["photos"] == [{"url": photo, "thumbnail": None}]
    name = await made_by_hand(lab, run, receiver.url, photo=f"photos/{own}/{run}/{uuid.uuid4()}")
    await until(lab, name, lambda one: one["status"].get("settled"))
    assert "&s=" in receiver.received[-1].envelope["data"]["photos"][0]["url"]


async def half_made(lab: Lab, url: str) -> tuple[str, str]:
    """A run with one event in its outbox, and a delivery of it without an attempt; run id and event id."""
    run = await lab.dispatch(url)
    await lab.answer(run)
    (entry,) = (await lab.run(run)).status.outbox
    message = {"event_id": entry.event_id, "event": entry.event.value, "run_id": run, "seq": entry.seq}
    body = delivery_body(lab, message, url, format_timestamp(entry.ts))
    await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
    return run, entry.event_id


async def test_a_half_made_delivery_is_sent_once(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await operator.kill()
    run, _ = await half_made(lab, receiver.url)
    await operator.start()
    await lab.submit(run)
    await lab.until_settled(run)
    assert await lab.deliveries(run) == []
    assert [(event["seq"], event["delivery_attempt"]) for event in receiver.events(run)] == [(1, 1), (2, 1)]


async def test_a_half_made_delivery_is_kept_when_it_is_claimed_or_the_run_has_it_on_record(lab: Lab) -> None:
    async def claim(event_id: str) -> None:
        until = format_timestamp(utc_now() + timedelta(seconds=30))
        status = {"phase": "InFlight", "claim": {"attempt": 1, "holder": "another", "until": until}}
        await lab.client.patch_status(WEBHOOK_DELIVERY, event_id, status, lab.namespace)

    async def record_of(client: Any, event_id: str, *, in_outbox: bool = True) -> tuple[DeliveryPhase, int] | None:
        objects = DeliveryObjects(client=client, reads=FreshReads(client), schedule=RetrySchedule(), clock=utc_now)
        record = await objects.record_of(lab.namespace, event_id, in_outbox=in_outbox)
        return record and (record.phase, record.attempts)

    class TooLate:
        """A client whose deletion comes after the claim of another one."""

        async def get(self, *arguments: Any) -> Any:
            return await lab.client.get(*arguments)

        async def delete(self, *arguments: Any, **options: Any) -> None:
            await claim(late)
            await lab.client.delete(*arguments, **options)

    (_, claimed), (_, late) = await half_made(lab, "http://a.test/"), await half_made(lab, "http://a.test/")
    assert await record_of(lab.client, claimed, in_outbox=False) is not None
    await claim(claimed)
    assert await record_of(lab.client, claimed) == (DeliveryPhase.PENDING, 0)
    assert await record_of(TooLate(), late) is not None
    left, _ = await lab.client.list_all(WEBHOOK_DELIVERY, lab.namespace)
    assert {one["metadata"]["name"] for one in left} == {claimed, late}


async def test_names_of_internal_addresses_are_never_dialled(lab: Lab, start_operator: StartOperator) -> None:
    fallen: list[str] = []

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fallen.append("connected")
        writer.close()

    flips = iter([["10.11.12.13"], ["::1", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]])
    now = {"A": ["127.0.0.1"], "AAAA": ["::1"]}

    def answer(name: str, kind: str) -> Reply:
        if kind == "A":
            now["A"] = now["AAAA"] = next(flips, ["127.0.0.1", "fd00:ec2::254"])
        return addresses(*now[kind])

    async with NameServer(answer) as name_server, await asyncio.start_server(accept, "127.0.0.1", 0) as trap:
        port = trap.sockets[0].getsockname()[1]
        await start_operator(CHECKLISTS_ALLOW_INSECURE_TARGETS="0", CHECKLISTS_DNS_SERVERS=name_server.address)
        run = await lab.cancelled(f"https://rebind.example:{port}/hook")
        assert {name for name, _ in name_server.asked} == {"rebind.example"}
    (body,) = await lab.deliveries(run)
    attempts = body["status"]["attempts"]
    assert [(one["number"], one["outcome"]) for one in attempts] == [(n, "blocked_address") for n in range(1, 6)]
    assert {one["detail"] for one in attempts} == {"the address is not allowed"}
    assert fallen == []
    shown = json.dumps([body, await lab.client.get(RUN, run, lab.namespace)])
    assert not any(address in shown for address in ("127.0.0.1", "10.11.12.13", "169.254", "::1", "fd00"))
