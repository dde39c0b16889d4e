"""What a kill leaves between the creation of a WebhookDelivery and the record of its first attempt."""

from datetime import timedelta
from typing import Any

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import delivery_body

from checklist_crds.kube.kinds import WEBHOOK_DELIVERY
from checklist_crds.run_types import DeliveryPhase
from checklist_crds.times import format_timestamp, utc_now
from checklist_operator.delivery.schedule import RetrySchedule
from checklist_operator.delivery_objects import DeliveryObjects
from checklist_operator.fresh_reads import FreshReads


async def half_made(lab: Lab, url: str) -> tuple[str, str]:
    """A run with one event in its outbox, and a delivery of it without an attempt; run id and event id."""
    run = await lab.dispatch(url)
    await lab.answer(run)
    (entry,) = (await lab.run(run)).status.outbox
    message = {"event_id": entry.event_id, "event": entry.event.value, "run_id": run, "seq": entry.seq}
    body = delivery_body(lab, message, url, format_timestamp(entry.ts))
    await lab.client.create(WEBHOOK_DELIVERY, body, lab.namespace)
    return run, entry.event_id


def objects(client: Any) -> DeliveryObjects:
    return DeliveryObjects(client, FreshReads(client), RetrySchedule(), clock=utc_now)


async def claim(lab: Lab, event_id: str) -> None:
    until = format_timestamp(utc_now() + timedelta(seconds=30))
    status = {"phase": "InFlight", "claim": {"attempt": 1, "holder": "another", "until": until}}
    await lab.client.patch_status(WEBHOOK_DELIVERY, event_id, status, lab.namespace)


async def test_after_a_restart_the_event_is_sent_once(lab: Lab, receiver: Receiver, operator: OperatorProcess) -> None:
    await operator.kill()
    run, _ = await half_made(lab, receiver.url)
    await operator.start()
    await lab.submit(run)
    await lab.until_settled(run)
    assert await lab.deliveries(run) == []
    assert [(event["seq"], event["delivery_attempt"]) for event in receiver.events(run)] == [(1, 1), (2, 1)]


async def test_one_that_another_one_has_claimed_or_the_run_has_on_record_is_kept(lab: Lab, receiver: Receiver) -> None:
    run, event_id = await half_made(lab, receiver.url)
    assert await objects(lab.client).record_of(lab.namespace, event_id, in_outbox=False) is not None
    await claim(lab, event_id)
    record = await objects(lab.client).record_of(lab.namespace, event_id, in_outbox=True)
    assert record is not None
    assert (record.phase, record.attempts) == (DeliveryPhase.PENDING, 0)
    assert len(await lab.deliveries(run)) == 1


async def test_one_that_is_claimed_at_the_last_moment_is_kept_too(lab: Lab, receiver: Receiver) -> None:
    _, event_id = await half_made(lab, receiver.url)

    class TooLate:
        """A client whose deletion comes after the claim of another one."""

        async def get(self, *arguments: Any) -> Any:
            return await lab.client.get(*arguments)

        async def delete(self, *arguments: Any, **options: Any) -> None:
            await claim(lab, event_id)
            await lab.client.delete(*arguments, **options)

    record = await objects(TooLate()).record_of(lab.namespace, event_id, in_outbox=True)
    assert record is not None
