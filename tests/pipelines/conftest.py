"""Fixtures of the pipelines' tests: an operator, a pipeline with the rights of access.yaml, and a person."""

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster.conftest import client, lab, operator, receiver, rest, start_operator
from tests.cluster.operator_lab import BASE_URL, SERVER_KEY, Lab, Receiver
from tests.kubectl.plugin_lab import Shell, kubeconfig_for
from tests.waiting import eventually

from checklist_crds.ids import object_id
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Run
from checklist_crds.secrets.sealing import ServerKeys, executor_link
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.kubectl import Kubectl
from checklist_dev.repository import ROOT

__all__ = ["client", "lab", "operator", "receiver", "rest", "start_operator"]

EXAMPLES = ROOT / "examples" / "pipelines"
STEP = "s-0"


@dataclass(frozen=True)
class Person:
    """The recipient of the link in a chat, who answers. Runs are by the names of their objects."""

    lab: Lab
    chat: Receiver

    async def got_link(self) -> str:
        """The run of the first message, which has its link and no other."""
        await eventually(lambda: self.chat.received)
        (message,) = self.chat.received
        assert message.headers["Content-Type"] == "application/json"
        text = json.loads(message.body)["text"]
        (public_id,) = re.findall(r"/r/([^#]+)#", text)
        link = executor_link(BASE_URL, ServerKeys(SERVER_KEY), object_id("org", self.lab.organization), public_id)
        assert text == f"Please answer: {link}"
        bodies, _ = await self.lab.client.list_all(RUN, self.lab.namespace)
        (name,) = [run.name for run in map(Run.parse, bodies) if run.public_id == public_id]
        return name

    async def answers(self, value: float = 4.5) -> str:
        run = await self.got_link()
        await self.lab.answer(run, value=value)
        await self.lab.submit(run)
        return run

    async def cancels(self) -> str:
        run = await self.got_link()
        await self.lab.cancel(run)
        return run


@pytest.fixture
def person(lab: Lab, receiver: Receiver) -> Person:
    return Person(lab, receiver)


@pytest.fixture
async def pipeline(control_plane: ControlPlane, kubectl: Kubectl, lab: Lab, tmp_path: Path) -> Shell:
    """The shell of a pod with the service account of access.yaml, and nothing else."""

    def prepare() -> str:
        kubectl("apply", "-n", lab.namespace, "-f", str(EXAMPLES / "access.yaml"))
        return kubectl("create", "token", "checklists-pipeline", "-n", lab.namespace).strip()

    token = await asyncio.to_thread(prepare)
    kubeconfig = kubeconfig_for(
        control_plane.kubeconfig, tmp_path / "pipeline.kubeconfig", lab.namespace, {"token": token}
    )
    return Shell(control_plane.kubectl, kubeconfig)
