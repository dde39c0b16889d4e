"""Creates deliveries that failed hours ago, as the operator stores them, without waiting for the retries."""

import asyncio
from datetime import timedelta
from functools import partial

from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.resources.outcome import OutcomeClass
from checklist_crds.times import utc_now
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.browser.office import Office
from checklist_dev.browser.stage import Link
from checklist_dev.local.bootstrap import NAMESPACE
from checklist_dev.local.local_service import is_ready
from checklist_dev.local.stored_deliveries import StoredDelivery

AT_ONCE = 16
READY_WITHIN_S = 90.0


async def make_failed(office: Office, count: int, *, outcome: OutcomeClass = OutcomeClass.HTTP_5XX) -> Link:
    """Create a run and `count` of its events with five failed attempts.

    The operator is stopped meanwhile, because it would send new events.
    """
    link = office.dispatch(checklist(step("clean")), webhook=office.webhook())
    url, room = office.webhook()["url"], asyncio.Semaphore(AT_ONCE)

    async def make(number: int) -> None:
        ts = utc_now() - timedelta(hours=3)
        delivery = StoredDelivery.of(office.organization, link.run_id, url, seq=number, ts=ts)
        async with room:
            await office.kube.create(WEBHOOK_DELIVERY, delivery.body, NAMESPACE)
            await office.kube.patch_status(WEBHOOK_DELIVERY, delivery.name, delivery.failed(outcome), NAMESPACE)

    operator = office.stage.service.operator
    await asyncio.to_thread(operator.stop)
    try:
        await asyncio.gather(*(make(number) for number in range(1, count + 1)))
    finally:
        operator.start()
    ready = partial(is_ready, office.stage.service.operator_port)
    await asyncio.to_thread(operator.wait_until, ready, timeout_s=READY_WITHIN_S)
    return link
