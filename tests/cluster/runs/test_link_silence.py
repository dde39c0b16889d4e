"""The token of a link is in the Secret of the run and nowhere else: not in YAML, Events, audit entries or logs."""

import asyncio
import base64
import logging

import httpx
import pytest
from tests.cluster.conftest import rest
from tests.cluster.operator_lab import BASE_URL, OTHER_SECRET, SERVER_KEY, Lab, OperatorProcess, Receiver, resource

from checklist_crds.ids import object_id
from checklist_crds.resources.kinds import RUN, SECRET
from checklist_crds.secrets.sealing import ServerKeys, executor_link
from checklist_dev.local.kubectl import Kubectl

__all__ = ["rest"]


async def test_the_token_of_a_link_is_nowhere_but_in_its_secret(  # noqa: PLR0917 - fixtures
    lab: Lab,
    receiver: Receiver,
    operator: OperatorProcess,
    rest: httpx.AsyncClient,
    kubectl: Kubectl,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="checklist_api")
    await lab.secret("hook", OTHER_SECRET)
    receiver.answer = lambda _: 503  # so that the event has a WebhookDelivery
    spec = {
        "templateRef": {"name": lab.template["metadata"]["name"]},
        "linkSecretRef": {"name": "person-link"},
        "webhook": {"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    }
    body = resource("Run", "", spec) | {"metadata": {"generateName": "opening-", "namespace": lab.namespace}}
    name = str((await lab.client.create(RUN, body, lab.namespace))["metadata"]["name"])
    await lab.until_condition(RUN, name, "LinkReady", status="True")
    run_id = (await lab.run(name)).id
    link = executor_link(BASE_URL, ServerKeys(SERVER_KEY), object_id("org", lab.organization), run_id)
    held = (await lab.get(SECRET, "person-link"))["data"]["link"]
    assert base64.b64decode(held).decode() == link

    async def shown(kind: str) -> str:
        get = ("get", kind, "-n", lab.namespace, "-o", "yaml", "--show-managed-fields")
        return await asyncio.to_thread(kubectl, *get)

    seen = {"open": await shown("run")}
    assert (await rest.get(f"/v1/runs/{run_id}/link")).json()["link"] == link
    answered = await rest.put(
        f"/v1/executor/runs/{run_id}/answers/s-0",
        headers={"Authorization": f"Executor {link.partition('#')[2]}"},
        json={"value": 4},
    )
    assert answered.status_code == 200
    assert (await rest.post(f"/v1/runs/{run_id}/cancel")).status_code == 200
    await lab.until_condition(RUN, name, "LinkReady", status="False", reason="RunEnded")
    await lab.until(RUN, name, lambda _: receiver.events(run_id))
    for kind in ("run", "webhookdelivery", "auditentry", "event"):
        seen[kind] = await shown(kind)
    assert name in seen["run"] and run_id in seen["auditentry"]
    seen |= {"operator": operator.output, "api": caplog.text, "receiver": str(receiver.received)}
    assert run_id in seen["operator"] and run_id in seen["receiver"]
    token = link.partition("#")[2]
    for place, text in seen.items():
        assert token not in text and held not in text, place
