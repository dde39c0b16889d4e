"""Runs of any name under an operator and an API: what people name is an object, what the service refers to is an id."""

import asyncio
import json
import re
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster.archive_lab import DAY, Archiving, in_archive, keep
from tests.cluster.operator_lab import (
    OTHER_SECRET,
    SERVER_KEY,
    Delivered,
    Lab,
    OperatorProcess,
    Receiver,
    StartOperator,
    resource,
)
from tests.waiting import eventually

from checklist_crds.archive import ArchiveStore
from checklist_crds.ids import is_id, keyed_id, object_id
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.limits.quota import Quota, period_of
from checklist_crds.resources.kinds import NAMESPACE, ORGANIZATION, RUN
from checklist_crds.secrets.sealing import ServerKeys, executor_token
from checklist_crds.times import utc_now
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.kubectl import Kubectl


async def created(lab: Lab, **spec: Any) -> str:
    """A run with a generated name; the name."""
    body = resource("Run", "", {"templateRef": {"name": lab.template["metadata"]["name"]}, **spec})
    body["metadata"] = {"generateName": "opening-", "namespace": lab.namespace}
    return str((await lab.client.create(RUN, body, lab.namespace))["metadata"]["name"])


async def named(lab: Lab, name: str, **spec: Any) -> str:
    spec = {"templateRef": {"name": lab.template["metadata"]["name"]}, **spec}
    await lab.client.create(RUN, resource("Run", name, spec, namespace=lab.namespace), lab.namespace)
    return name


async def used(lab: Lab) -> Quota:
    return Quota.parse((await lab.get(ORGANIZATION, lab.organization))["status"]["quota"])


async def executor(
    rest: httpx.AsyncClient, lab: Lab, run_id: str, method: str, path: str = "", **body: Any
) -> httpx.Response:
    token = executor_token(ServerKeys(SERVER_KEY), object_id("org", lab.organization), run_id)
    return await rest.request(
        method,
        f"/v1/executor/runs/{run_id}{path}",
        headers={"Authorization": f"Executor {token}"},
        **({"json": body} if body else {}),
    )


async def test_a_run_that_kubectl_makes_with_generate_name_goes_the_whole_way_by_its_id(  # noqa: PLR0917 - fixtures
    lab: Lab,
    receiver: Receiver,
    operator: OperatorProcess,
    rest: httpx.AsyncClient,
    kubectl: Kubectl,
    tmp_path: Path,
) -> None:
    await lab.secret("hook", OTHER_SECRET)
    spec = {
        "templateRef": {"name": lab.template["metadata"]["name"]},
        "webhook": {"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}},
    }
    manifest = json.dumps(resource("Run", "", spec) | {"metadata": {"generateName": "opening-"}})
    create = ("create", "-n", lab.namespace, "-f", "-", "-o", "jsonpath={.metadata.name}")
    name = await asyncio.to_thread(kubectl, *create, stdin=manifest)
    run_id = (await lab.until_admitted(name)).id
    assert is_id("r", run_id) and not is_id("r", name)
    select = ("get", "clrun", "-n", lab.namespace, "--field-selector", f"status.resolved.runId={run_id}", "-o", "name")
    assert (await asyncio.to_thread(kubectl, *select)).strip() == f"run.checklists.dev/{name}"

    def first_fails(one: Delivered) -> int:
        return 503 if one.attempt == 1 and one.envelope["event"] == "step.completed" else 204

    receiver.answer = first_fails
    await eventually_status(rest, f"/v1/runs/{run_id}", 200)
    assert (await executor(rest, lab, run_id, "PUT", "/answers/s-0", value=4)).status_code == 200
    assert (await executor(rest, lab, run_id, "POST", "/submit")).status_code == 200
    assert (await lab.until_settled(name)).status.phase.rest == "completed"
    assert sorted({event["event"] for event in receiver.events(run_id)}) == ["run.completed", "step.completed"]
    for one in receiver.received:
        assert re.search(r'keyid="([^"]+)"', one.headers["Signature-Input"])[1] == run_id  # type: ignore[index]
    (delivery,) = await lab.deliveries(name)
    assert (delivery["spec"]["runRef"], delivery["spec"]["runId"]) == ({"name": name}, run_id)
    deliveries = (await rest.get(f"/v1/runs/{run_id}/deliveries")).json()["data"]
    assert [one["run_id"] for one in deliveries] == [run_id] * 2

    before = len(receiver.events(run_id))
    for one in deliveries:  # one has its WebhookDelivery, the other is made from the run
        if one["event"] == "run.completed":
            assert (await rest.post(f"/v1/deliveries/{one['event_id']}/replay")).status_code == 202
    await eventually(lambda: len(receiver.events(run_id)) == before + 1)
    await lab.until_settled(name)

    await operator.stop()
    assert ((await used(lab)).used, (await used(lab)).pending) == (1, {})
    await keep(lab, finishedRunsDays=1)
    store = ArchiveStore.open((tmp_path / "photos").as_uri())
    later = Archiving.over(lab.client, store, lab.namespace, clock=lambda: utc_now() + 2 * DAY)
    assert await later.retention.sweep() >= 1
    assert await lab.is_gone(RUN, name)
    record = await in_archive(store, run_id)
    assert record is not None and (record.run_id, record.name) == (run_id, name)
    assert (await in_archive(store, name)) is None
    shown = (await eventually_status(rest, f"/v1/runs/{run_id}", 200)).json()
    assert (shown["run_id"], shown["status"]) == (run_id, "completed")
    assert {one["run_id"] for one in (await rest.get(f"/v1/runs/{run_id}/deliveries")).json()["data"]} == {run_id}


async def eventually_status(rest: httpx.AsyncClient, path: str, status: int) -> httpx.Response:
    async def asked() -> httpx.Response | None:
        answer = await rest.get(path)
        return answer if answer.status_code == status else None

    found: httpx.Response = await eventually(asked)
    return found


async def test_a_name_used_in_two_namespaces_and_twice_in_one_is_three_runs(
    lab: Lab, start_operator: StartOperator, receiver: Receiver
) -> None:
    name = f"test-{uuid.uuid4().hex[:12]}"
    await lab.client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    other = Lab(lab.client, name)
    await other.prepare()
    await start_operator(CHECKLISTS_WATCH_NAMESPACES=f"{lab.namespace},{other.namespace}")
    for each in (lab, other):
        await each.secret("hook", OTHER_SECRET)
    webhook = {"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}}
    mine, theirs = [
        (await each.until_admitted(await named(each, "daily", webhook=webhook))).id for each in (lab, other)
    ]
    assert mine != theirs
    await lab.answer("daily")
    await lab.cancel("daily")
    await lab.until_settled("daily")
    assert [event["event"] for event in receiver.events(mine)] == ["step.completed", "run.cancelled"]
    assert (receiver.events(theirs), (await other.run("daily")).status.phase.rest) == ([], "pending")

    receiver.answer = lambda _: 503
    await other.cancel("daily")
    await eventually(lambda: receiver.events(theirs))
    await eventually(lambda: other.deliveries("daily"))
    await other.client.delete(RUN, "daily", other.namespace)
    again = (await other.until_admitted(await named(other, "daily", webhook=webhook))).id
    assert again not in (mine, theirs)
    # What is left to send of the first is not signed with the secret of the second, and is not recorded with it.
    (orphan,) = await eventually(lambda: settled(other))
    assert (orphan["spec"]["runId"], orphan["status"]["phase"]) == (theirs, "Failed")
    assert (await other.run("daily")).status.delivery_records == ()


async def settled(lab: Lab) -> list[JsonObject]:
    found = await lab.deliveries("daily")
    return found if all((one.get("status") or {}).get("settled") for one in found) else []


@pytest.mark.parametrize("name", ["a", "0", "x." * 100 + "y", "r-1", "r-abc"])
async def test_any_name_of_an_object_will_do(lab: Lab, operator: OperatorProcess, name: str) -> None:
    run = await lab.until_admitted(await named(lab, name))
    assert is_id("r", run.id) and run.id != name
    await lab.cancel(name)
    await lab.until_settled(name)


async def test_an_operator_that_dies_between_count_and_admission_counts_once(
    lab: Lab, start_operator: StartOperator
) -> None:
    """The id is of the object, so the next operator takes the same count."""
    name = await created(lab)
    uid = (await lab.get(RUN, name))["metadata"]["uid"]
    run_id = keyed_id("r", ServerKeys(SERVER_KEY).derived("run-id")[0], lab.namespace, uid)
    now = utc_now()
    counted = Quota(period_of(now), 1, {run_id: now - timedelta(seconds=20)})
    await lab.client.patch_status(ORGANIZATION, lab.organization, {"quota": counted.as_status()})
    await start_operator()
    assert (await lab.until_admitted(name)).id == run_id

    async def once() -> bool:
        now = await used(lab)
        return now.used == 1 and not now.pending

    await eventually(once)
    with pytest.raises(KubeNotFound):
        await lab.get(RUN, run_id)
