"""Reads that come from the API server's memory: never older than this term, nor than our own writes."""

import asyncio

import pytest
from tests.cluster.operator_lab import Lab

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import version_of
from checklist_crds.kube.kinds import RUN
from checklist_operator.fresh_reads import FreshReads


class Counting(KubeClient):
    """Notes from which version on each read was asked for, and how many lists were."""

    def __init__(self, shared: KubeClient) -> None:
        self.__dict__.update(shared.__dict__)
        self.asked: list[int] = []
        self.lists = 0

    async def get(self, *arguments, not_older_than=None):  # type: ignore[no-untyped-def]
        self.asked.append(int(not_older_than))
        return await super().get(*arguments, not_older_than=not_older_than)

    def pages(self, *arguments, **options):  # type: ignore[no-untyped-def]
        self.lists += 1
        return super().pages(*arguments, **options)


async def test_what_was_written_before_the_term_and_by_ourselves_is_always_seen(lab: Lab) -> None:
    for _ in range(20):
        run = await lab.dispatch()
        written = await lab.client.patch(RUN, run, {"metadata": {"labels": {"seen": "yes"}}}, lab.namespace)
        read = await FreshReads(lab.client).get(RUN, run, lab.namespace)
        assert version_of(read) == version_of(written)
    reads = FreshReads(lab.client)
    for number in range(50):
        labels = {"metadata": {"labels": {"number": str(number)}}}
        reads.note(RUN, await lab.client.patch(RUN, run, labels, lab.namespace))
        assert (await reads.get(RUN, run, lab.namespace))["metadata"]["labels"]["number"] == str(number)
    gone = await lab.dispatch()
    await lab.client.delete(RUN, gone, lab.namespace)
    with pytest.raises(KubeNotFound):
        await FreshReads(lab.client).get(RUN, gone, lab.namespace)


async def test_where_etcd_is_is_asked_once_and_every_read_says_from_which_version_on(lab: Lab) -> None:
    client = Counting(lab.client)
    reads = FreshReads(client)
    runs = [await lab.dispatch() for _ in range(5)]
    latest = version_of(await lab.get(RUN, runs[-1]))
    await asyncio.gather(*(reads.get(RUN, run, lab.namespace) for run in runs))
    assert client.lists == 1
    assert len(client.asked) == 5
    assert min(client.asked) >= latest
