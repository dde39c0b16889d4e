"""Slots for objects that came without one."""

import asyncio
from typing import Any, cast

import pytest

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeUnavailable
from checklist_crds.kube.kinds import RUN
from checklist_operator.controllers.slot_labels import SlotLabels

pytestmark = pytest.mark.looptime

BODY = {"metadata": {"namespace": "teams", "name": "r-1"}, "spec": {"organizationRef": {"name": "org-1"}}}


class SlowCluster:
    """Takes a second for each patch, and refuses the first `failures` of them."""

    def __init__(self, failures: int = 0) -> None:
        self.patched: list[str] = []
        self._failures = failures

    async def patch(self, kind: object, name: str, patch: Any, namespace: str) -> None:
        await asyncio.sleep(1)
        if self._failures:
            self._failures -= 1
            raise KubeUnavailable("no answer")
        self.patched.append(name)


async def given_while_shown_again(cluster: SlowCluster) -> list[str]:
    bugs: list[str] = []
    labels = SlotLabels(cast(KubeClient, cluster), on_bug=bugs.append)
    assert labels.take(RUN, BODY)
    await asyncio.sleep(0.5)
    assert labels.take(RUN, BODY)
    await asyncio.sleep(60)
    assert labels.queue.is_idle
    return bugs


async def test_an_object_that_is_shown_again_while_its_slot_is_written_is_no_failure() -> None:
    cluster = SlowCluster()
    assert await given_while_shown_again(cluster) == []
    assert set(cluster.patched) == {"r-1"}


async def test_a_slot_that_could_not_be_written_is_written_later() -> None:
    cluster = SlowCluster(failures=1)
    assert await given_while_shown_again(cluster) == []
    assert set(cluster.patched) == {"r-1"}
