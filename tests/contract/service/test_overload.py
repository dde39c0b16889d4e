"""A Kubernetes API that is slow, and one that is offered more than it can do: neither is an outage."""

import asyncio
import logging
import statistics
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field

import httpx
import pytest
from tests.contract.conftest import CONTRACT, Account, Api, StartApi, http_client, until_status
from tests.contract.executor_client import checklist, step
from tests.contract.slow_cluster import SlowCluster
from tests.waiting import WITHIN_S

from checklist_api.cluster.call_queue import LONGEST_QUEUE_WAIT_S
from checklist_api.wiring.services import Services
from checklist_crds.kube.client import KubeConnection
from checklist_crds.resources.kinds import API_KEY, RUN
from checklist_crds.secrets import api_keys
from checklist_crds.secrets.digest import digest
from checklist_dev.local.controlplane import ControlPlane

STEPS = 80
SOON_S = 10.0
"""The promises are shorter, on a machine that does nothing else; who is not looked after waits much longer."""


@pytest.fixture
async def slow(control_plane: ControlPlane) -> AsyncIterator[SlowCluster]:
    yield SlowCluster(await KubeConnection.load(str(control_plane.kubeconfig)))


async def api_behind(slow: SlowCluster, connection: KubeConnection, start_api: StartApi) -> Api:
    settings = (await start_api()).services.settings
    return await start_api(services=Services(settings, connection))


@dataclass
class Answered:
    """What became of answers, each to a step of its own."""

    taken: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    retry_after: list[int] = field(default_factory=list)
    steps: set[tuple[str, str]] = field(default_factory=set)

    async def give(self, http: httpx.AsyncClient, run_id: str, token: str, step_id: str) -> None:
        started = time.monotonic()
        response = await http.put(
            f"/v1/executor/runs/{run_id}/answers/{step_id}",
            json={"value": True, "op_id": f"{run_id}-{step_id}"},
            headers={"Authorization": f"Executor {token}"},
        )
        seconds = time.monotonic() - started
        if response.status_code == 200:
            self.taken.append(seconds)
            self.steps.add((run_id, step_id))
            return
        assert (response.status_code, response.json()["error"]) == (503, "service_unavailable"), response.text
        assert [each["code"] for each in response.json()["details"]] == ["overloaded"]
        self.refused.append(seconds)
        self.retry_after.append(int(response.headers["Retry-After"]))
        if len(self.refused) == 1:
            CONTRACT.check(response)


async def runs_of(account: Account, count: int) -> list[str]:
    template = (await account.create_template(**checklist(*(step(str(number)) for number in range(STEPS)))))["id"]
    return [str((await account.dispatch(template))["run_id"]) for _ in range(count)]


async def test_slow_is_no_outage(slow: SlowCluster, start_api: StartApi, caplog: pytest.LogCaptureFixture) -> None:
    async with slow.standing() as connection:
        api = await api_behind(slow, connection, start_api)
        runs = await runs_of(api.account, 4)
        template = (await api.account.create_template())["id"]
        slow.delay_s = (2.0, 3.0)
        answered, wanted = Answered(), [(run, f"s-{number}") for number in range(5) for run in runs]
        ended = asyncio.Event()

        async def looking() -> int:
            looks = 0
            while not ended.is_set():
                assert (await api.anonymous.get("/readyz")).status_code == 200
                looks += 1
                await asyncio.sleep(0.1)
            return looks

        look = asyncio.create_task(looking())
        with caplog.at_level(logging.INFO):
            async with http_client(api.base_url) as http:
                others: list[Awaitable[httpx.Response]] = [
                    *(api.http.get(f"/v1/runs/{run}") for run in runs),
                    *(api.http.post("/v1/runs", json={"template_id": template}) for _ in range(3)),
                ]
                responses, *_ = await asyncio.gather(
                    asyncio.gather(*others),
                    *(answered.give(http, run, api.token(run), name) for run, name in wanted),
                )
        ended.set()
        assert await look > 20
        assert sorted(response.status_code for response in responses) == [*[200] * 4, *[201] * 3]
        assert (len(answered.taken), answered.refused) == (len(wanted), [])
        assert max(answered.taken) > 2.0
        assert not [record for record in caplog.records if record.message in {"cluster.down", "requests.overload"}]
        slow.delay_s = (0.0, 0.0)


async def test_overload_is_refused_soon_and_fairly(slow: SlowCluster, start_api: StartApi) -> None:
    """Twice the capacity of ten calls a second, for as long as it takes."""
    async with slow.standing() as connection:
        api = await api_behind(slow, connection, start_api)
        other = await api.make_account()
        runs = await runs_of(api.account, 30)
        foreign = await other.new_run()
        short = await other.new_run(expires_in_hours=6 / 3600)
        key = api_keys.new_key()
        spec = {"name": "revoked", "sha256": digest(key), "lastFour": key[-4:]}
        body = await api.kube.get(API_KEY, api_keys.object_name(digest(other.key)), other.namespace)
        metadata = {name: body["metadata"][name] for name in ("labels", "namespace")}
        metadata["name"] = api_keys.object_name(digest(key))
        await api.kube.create(API_KEY, body | {"metadata": metadata, "spec": body["spec"] | spec}, other.namespace)

        async with http_client(api.base_url) as http, http_client(api.base_url, key) as revoked:
            await until_status(200, lambda: revoked.get("/v1/templates"))
            slow.delay_s, slow.at_a_time = (0.1, 0.1), asyncio.Semaphore(1)
            answered, tasks, ended = Answered(), [], asyncio.Event()

            async def flood() -> None:
                started = time.monotonic()
                for number, (name, run) in enumerate((f"s-{name}", run) for name in range(STEPS) for run in runs):
                    if ended.is_set():
                        return
                    await asyncio.sleep(max(0.0, started + number / 20 - time.monotonic()))
                    tasks.append(asyncio.create_task(answered.give(http, run, api.token(run), name)))

            flooding = asyncio.create_task(flood())
            while not answered.refused:
                assert not flooding.done(), "something is refused"
                await asyncio.sleep(0.05)
            await neighbours_are_served(other, foreign)
            await a_revoked_key_is_refused(api, revoked, metadata["name"], other.namespace)
            await expiry_keeps_its_time(api, other, short)
            assert not flooding.done(), "all of that was while it lasted"
            ended.set()
            await flooding
            await asyncio.gather(*tasks)
        assert min(len(answered.taken), len(answered.refused)) > 20
        # How long both wait is proved with the queue itself, in virtual time: tests/unit/kube/test_call_queue.py.
        assert statistics.median(answered.refused) < statistics.median(answered.taken)
        assert max(answered.refused + answered.taken) < WITHIN_S
        assert max(answered.retry_after) > min(answered.retry_after) >= 1
        slow.delay_s = (0.0, 0.0)
        kept = {
            (run, name) for run in runs for name in (await api.kube.get(RUN, run, api.namespace))["status"]["answers"]
        }
        assert kept == answered.steps, "what was acknowledged is there, and what was refused is not"
        await until_status(200, lambda: api.http.get("/v1/usage"))


async def neighbours_are_served(other: Account, run_id: str) -> None:
    """Another organization has its own turn at the queue: its requests are never refused at once. (A machine that is
    starved itself may be too slow even for its turn.)"""
    served = 0
    while served < 10:
        started = time.monotonic()
        response = await other.http.get(f"/v1/runs/{run_id}")
        assert response.status_code in {200, 503}, response.text
        served += response.status_code == 200
        assert response.status_code == 200 or time.monotonic() - started >= LONGEST_QUEUE_WAIT_S


async def a_revoked_key_is_refused(api: Api, revoked: httpx.AsyncClient, name: str, namespace: str) -> None:
    await api.kube.patch(API_KEY, name, {"spec": {"revoked": True}}, namespace)
    await until_status(401, lambda: revoked.get("/v1/templates"), within_s=SOON_S)


async def expiry_keeps_its_time(api: Api, other: Account, run_id: str) -> None:
    token = api.token(run_id, other)
    path = f"/v1/executor/runs/{run_id}"
    ask = lambda: api.anonymous.get(path, headers={"Authorization": f"Executor {token}"})  # noqa: E731
    expires_at = (await api.kube.get(RUN, run_id, other.namespace))["spec"]["expiresAt"]
    assert expires_at
    response = await until_status(410, ask, within_s=6 + SOON_S)
    assert response.json()["error"] == "run_expired"
