"""The watch of what is settled: every request for a replay is seen, before and after, and across broken lines."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.cluster.operator_lab import Lab, Receiver
from tests.cluster.replay_lab import ask, made_failed
from tests.cluster.severed_line import SeveredLine
from tests.waiting import eventually

from checklist_crds.kube.client import JsonObject, KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeGone
from checklist_operator.attempts.replay_progress import is_requested
from checklist_operator.replays.settled_deliveries import SettledDeliveries


@asynccontextmanager
async def watching(client: KubeClient, namespace: str) -> AsyncIterator[set[str]]:
    """The names of those that were seen with a request."""
    seen: set[str] = set()

    def observe(_: str | None, body: JsonObject) -> None:
        assert "spec" not in body
        if is_requested(body):
            seen.add(body["metadata"]["name"])

    task = asyncio.create_task(
        SettledDeliveries(client=client, observe=observe, namespaces=(namespace,), page_pause_s=0.01).run()
    )
    try:
        yield seen
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_requests_on_every_page_are_seen(lab: Lab, receiver: Receiver) -> None:
    run = await lab.dispatch(receiver.url)
    names = sorted(await made_failed(lab, run, receiver.url, 520))
    for name in (names[0], names[-1]):
        await ask(lab, name)
    async with watching(lab.client, lab.namespace) as seen:
        await eventually(lambda: seen == {names[0], names[-1]})
        await ask(lab, names[7])
        await eventually(lambda: names[7] in seen)


class Forgetful(KubeClient):
    """Breaks off the first watch as a server does whose history is gone; `meanwhile` happens before."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def watch(self, *arguments: object, **named: object):  # type: ignore[no-untyped-def, override]
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
            raise KubeGone("too old resource version", status=410)
        async for event in super().watch(*arguments, **named):  # type: ignore[arg-type]
            yield event


async def test_requests_are_seen_after_a_broken_watch(lab: Lab, receiver: Receiver, line: SeveredLine) -> None:
    run = await lab.dispatch(receiver.url)
    names = await made_failed(lab, run, receiver.url, 3)
    client = Forgetful(await KubeConnection.load(str(line.kubeconfig)))
    client.meanwhile = lambda: ask(lab, names[0])  # no watch will ever bring this one
    async with client, watching(client, lab.namespace) as seen:
        await eventually(lambda: names[0] in seen)
        line.down = True
        line.cut()
        await ask(lab, names[1])
        await asyncio.sleep(0.3)
        assert names[1] not in seen
        line.down = False
        await eventually(lambda: names[1] in seen)
        await ask(lab, names[2])
        await eventually(lambda: names[2] in seen)
