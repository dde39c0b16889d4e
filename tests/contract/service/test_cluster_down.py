"""The Kubernetes API is away: 503 in less than five seconds, nothing half-done, and everything comes back by itself."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from tests.contract.conftest import Api, until, until_status
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeOutcomeUnknown
from checklist_crds.resources.kinds import AUDIT_ENTRY, ORGANIZATION, RUN, TEMPLATE, key_of
from checklist_dev.local.controlplane import ControlPlane


@asynccontextmanager
async def frozen(*pids: int) -> AsyncIterator[None]:
    """Processes that hang: they take connections and answer nothing."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


SOON_S = 10.0
"""The promise is five seconds, on a machine that does nothing else. A call without a deadline waits for the end."""


async def timed(call: object) -> tuple[float, httpx.Response]:
    started = time.monotonic()
    response = await call  # type: ignore[misc]
    return time.monotonic() - started, response


async def until_it_serves(api: Api) -> None:
    await until_status(200, lambda: api.http.get("/v1/usage"))


@pytest.mark.parametrize("part", ["apiserver", "etcd"])
async def test_an_outage_answers_503_soon(api: Api, control_plane: ControlPlane, part: str) -> None:
    template = await api.account.create_template()
    run_id = (await api.account.dispatch(template["id"]))["run_id"]
    dispatch = {"template_id": template["id"]}
    async with frozen(getattr(control_plane, part).pid):
        # Far more than the calls that may be under way at once: those that wait are answered as soon.
        first = await asyncio.gather(*(timed(api.http.post("/v1/runs", json=dispatch)) for _ in range(80)))
        then = [
            await timed(call)
            for call in (
                api.http.post("/v1/runs", json=dispatch),
                *(api.http.get(path) for path in ("/v1/runs", f"/v1/runs/{run_id}", "/v1/usage", "/v1/templates")),
                api.anonymous.get(f"/v1/runs/{run_id}/preview"),
                api.http.post(f"/v1/runs/{run_id}/cancel"),
                api.http.post("/v1/templates", json={"name": "x", "sections": []}),
                api.http.patch(f"/v1/templates/{template['id']}", json={}),
                api.http.delete(f"/v1/templates/{template['id']}"),
            )
        ]
        ready = await api.anonymous.get("/readyz")
        assert (await api.anonymous.get("/healthz")).status_code == 200
    for seconds, response in [*first, *then]:
        assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
        assert int(response.headers["Retry-After"]) >= 1
        assert seconds < SOON_S
    assert ready.status_code == 503
    (reason,) = ready.json()["reasons"]
    assert "Kubernetes API" in reason
    assert {"name": "kubernetes", "ok": False, "reason": reason} in ready.json()["checks"]
    assert {"name": "runs", "ok": True, "reason": None} in ready.json()["checks"]

    await until_it_serves(api)
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["status"] == "pending"
    assert (await api.http.get(f"/v1/templates/{template['id']}")).json()["v"] == 1
    assert (await api.account.dispatch(template["id"]))["run_id"]
    assert (await api.anonymous.get("/readyz")).status_code == 200
    if part == "apiserver":  # It may also be gone.
        await asyncio.to_thread(control_plane.stop_apiserver, kill=True)
        try:
            seconds, response = await timed(api.http.post("/v1/runs", json=dispatch))
            assert (response.status_code, seconds < SOON_S) == (503, True)
        finally:
            await asyncio.to_thread(control_plane.start_apiserver)
        await until_it_serves(api)
    await no_run_is_uncounted(api)
    # The cache catches up, too.
    await api.kube.patch(TEMPLATE, template["id"], {"spec": {"name": "By kubectl"}}, api.namespace)

    path = f"/v1/templates/{template['id']}"
    await until(lambda: api.http.get(path), lambda answer: answer.json()["name"] == "By kubectl")


async def test_unknown_outcomes_say_so(api: Api, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer to a cancellation is lost after the cluster has made it. The audit trail says the same."""

    async def entries(of: str) -> list[tuple[str, dict[str, str]]]:
        specs = [entry["spec"] for entry in sorted(await api.all_of(AUDIT_ENTRY), key=key_of)]
        return [(one.get("outcome", "done"), one.get("details", {})) for one in specs if one["target"]["id"] == of]

    run_id = await api.account.new_run()
    call = KubeClient._call

    async def loses_answers(self: KubeClient, method: str, path: str, **others: object) -> object:
        answer = await call(self, method, path, **others)  # type: ignore[arg-type]
        if method != "GET" and run_id in path:
            raise KubeOutcomeUnknown("lost")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(KubeClient, "_call", loses_answers)
        lost = await api.http.post(f"/v1/runs/{run_id}/cancel")
    assert (lost.status_code, lost.json()["error"]) == (503, "service_unavailable")
    assert [problem["code"] for problem in lost.json()["details"]] == ["outcome_unknown"]
    assert (await api.http.get(f"/v1/runs/{run_id}")).json()["status"] == "cancelled"
    (announced, _), (outcome, details) = await entries(run_id)
    assert (announced, outcome, details["reason"]) == ("done", "failed", "no_answer")
    assert (await api.http.post(f"/v1/runs/{run_id}/cancel")).json()["error"] == "run_closed"
    other = await api.account.new_run()
    async with frozen(control_plane.apiserver.pid):
        await eventually(lambda: api.services.client.down)
        refused = await api.http.post(f"/v1/runs/{other}/cancel")
    assert (refused.status_code, refused.json().get("details")) == (503, None)
    await until_it_serves(api)
    assert (await api.http.get(f"/v1/runs/{other}")).json()["status"] == "pending"
    assert await entries(other) == []


async def no_run_is_uncounted(api: Api) -> None:
    """What was made is counted; what was counted without being made is pending, so that the operator finds it."""
    await api.services.quota.flush(api.organization)
    quota = (await api.kube.get(ORGANIZATION, api.organization))["status"]["quota"]
    runs, _ = await api.kube.list_all(RUN, api.namespace)
    made = {run["metadata"]["name"] for run in runs}
    unmade = {entry["runId"] for entry in quota.get("pending", [])} - made
    assert quota["used"] == len(made) + len(unmade)


async def test_a_token_that_the_cluster_does_not_accept_is_not_now(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a pod that is deleted and has not ended yet: another one answers the same request."""
    template = await api.account.create_template()
    with monkeypatch.context() as patch:
        connection = replace(api.services.client._connection, headers=lambda: {"Authorization": "Bearer of-before"})
        patch.setattr(api.services.client, "_connection", connection)
        refused = await api.http.post("/v1/runs", json={"template_id": template["id"]})
    assert (refused.status_code, refused.json()["error"]) == (503, "service_unavailable")
    assert int(refused.headers["Retry-After"]) >= 1
    await until_it_serves(api)
    await api.account.dispatch(template["id"])
