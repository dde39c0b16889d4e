"""Reads that come from the API server's memory: never older than this term, nor than our own writes."""

import pytest
from tests.cluster.operator_lab import Lab

from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.informer import version_of
from checklist_crds.resources.kinds import RUN
from checklist_operator.runtime.fresh_reads import FreshReads


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
