"""Traces: one from a caller's request through dispatch and outbox to every attempt, as a collector gets them."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.cluster.operator_lab import SEALING_KEYS, Lab, OperatorProcess, Receiver, StartOperator
from tests.contract.conftest import _make_account, definition
from tests.replicas.api_processes import api_processes
from tests.waiting import eventually

from checklist_crds.kube.client import KubeClient
from checklist_crds.platform.tracing import TRACEPARENT_ANNOTATION, valid_traceparent
from checklist_crds.resources.kinds import RUN
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.system.ports import free_ports

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = f"00-{TRACE}-{SPAN}-01"
WEBHOOK_SECRET = "a secret that no span knows"
SHARED = {"CHECKLISTS_ALLOW_INSECURE_TARGETS": "1", "CHECKLISTS_SEALING_KEYS": SEALING_KEYS}
StartApi = Callable[..., Awaitable[tuple[str, str]]]
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "100"}


@dataclass
class Collector:
    """An OTLP/HTTP receiver on loopback."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> list[tuple[str, Span]]:
        """With the service that each is of."""
        found = []
        for body in self.bodies:
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                service = dict(attributes(resource.resource))["service.name"]
                found += [(service, span) for scope in resource.scope_spans for span in scope.spans]
        return found

    def of_trace(self, trace: str) -> list[tuple[str, Span]]:
        return [(service, span) for service, span in self.spans() if span.trace_id.hex() == trace]


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@pytest_asyncio.fixture
async def collector() -> AsyncIterator[Collector]:
    made = Collector()

    async def take(request: web.Request) -> web.Response:
        assert request.content_type == "application/x-protobuf"
        made.bodies.append(await request.read())
        return web.Response(body=b"", content_type="application/x-protobuf")

    application = web.Application()
    application.router.add_post("/v1/traces", take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


def links(span: Span) -> list[tuple[bytes, bytes]]:
    return [(link.trace_id, link.span_id) for link in span.links]


def lines_of(operator: OperatorProcess) -> list[dict[str, Any]]:
    return [json.loads(line) for line in operator.output.splitlines() if line.startswith("{")]


async def dispatch_and_cancel(api: str, key: str, receiver: Receiver, **headers: str) -> str:
    """Over REST; the run's id."""
    async with httpx.AsyncClient(base_url=api, headers={"Authorization": f"Bearer {key}"}, trust_env=False) as http:
        template = (await http.post("/v1/templates", json=definition())).json()
        webhook = {"url": receiver.url, "secret": WEBHOOK_SECRET, "events": ["*"]}
        wanted = {"template_id": template["id"], "webhook": webhook}
        answer = await http.post("/v1/runs", json=wanted, headers=headers)
        assert answer.status_code == 201, answer.text
        run_id = str(answer.json()["run_id"])
        assert (await http.post(f"/v1/runs/{run_id}/cancel")).status_code == 200
        return run_id


@pytest_asyncio.fixture
async def start_api(
    client: KubeClient, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> AsyncIterator[StartApi]:
    """`await start_api(...)`: address of a process of the API with these settings, and a key of an organization."""
    async with AsyncExitStack() as stack:

        async def start(**settings: str) -> tuple[str, str]:
            _, _, key, _ = await _make_account(client, namespace, None, {})
            settings |= {**SHARED, "CHECKLISTS_WATCH_NAMESPACES": namespace}
            processes = api_processes(1, tmp_path, control_plane.kubeconfig, namespace, **settings)
            (api,) = await stack.enter_async_context(processes)
            return api.url, key

        yield start


async def test_one_trace_leads_from_the_callers_request_to_the_last_attempt(  # noqa: PLR0917 - fixtures
    client: KubeClient,
    namespace: str,
    start_api: StartApi,
    start_operator: StartOperator,
    collector: Collector,
    receiver: Receiver,
) -> None:
    receiver.answer = lambda one: 500 if one.attempt == 1 else 204
    settings = {"CHECKLISTS_OTLP_ENDPOINT": collector.url, **SOON}
    api, key = await start_api(**settings)
    operator = await start_operator(**settings)
    run_id = await dispatch_and_cancel(api, key, receiver, traceparent=CALLER)

    def attempts() -> list[Span]:
        return [span for _, span in collector.of_trace(TRACE) if span.name == "deliver run.cancelled"]

    await eventually(lambda: len(attempts()) == 2)
    await operator.stop()
    of_attempts = [line for line in lines_of(operator) if line["event"] in ("attempt.succeeded", "attempt.failed")]
    assert [line["trace_id"] for line in of_attempts] == [TRACE, TRACE]
    (finished,) = [line for line in lines_of(operator) if line["event"] == "delivery.settled"]
    assert (finished["run_id"], finished["trace_id"]) == (run_id, TRACE)

    found = collector.of_trace(TRACE)
    (request,) = [span for service, span in found if service == "checklist-dispatch-api"]
    assert (request.name, request.kind) == ("POST /v1/runs", Span.SPAN_KIND_SERVER)
    assert request.parent_span_id.hex() == SPAN
    assert attributes(request)["http.response.status_code"] == 201
    run = await client.get(RUN, run_id, namespace)
    kept = run["metadata"]["annotations"][TRACEPARENT_ANNOTATION]
    assert kept == f"00-{TRACE}-{request.span_id.hex()}-01"

    of_operator = [span for service, span in found if service == "checklist-dispatch-operator"]
    assert {span.parent_span_id for span in of_operator} == {request.span_id}
    (wait,) = [span for span in of_operator if span.name == "wait in the outbox"]
    first, second = sorted(attempts(), key=lambda span: span.start_time_unix_nano)
    assert wait.start_time_unix_nano <= wait.end_time_unix_nano <= first.start_time_unix_nano
    assert [attributes(span)["attempt"] for span in (first, second)] == [1, 2]
    assert [attributes(span)["outcome"] for span in (first, second)] == ["http_5xx", "success"]
    assert [span.status.code for span in (first, second)] == [2, 0]
    assert (links(first), links(second)) == ([], [(first.trace_id, first.span_id)])
    (cancel,) = [span for _, span in collector.spans() if span.name == "POST /v1/runs/{run_id}/cancel"]
    assert cancel.trace_id != request.trace_id
    assert links(cancel) == [(request.trace_id, request.span_id)]
    assert {attributes(span)["run_id"] for span in (wait, first, second)} == {run_id}
    assert {attributes(span)["event_id"] for span in (first, second)} == {receiver.events(run_id)[0]["event_id"]}

    everything = b"".join(collector.bodies)
    for secret in (key, WEBHOOK_SECRET, receiver.url, "Ada Lovelace", "ada@example.com"):
        assert secret.encode() not in everything


async def test_attempts_of_a_run_without_a_trace_are_linked_also_beyond_a_restart(
    lab: Lab, start_operator: StartOperator, collector: Collector, receiver: Receiver
) -> None:
    receiver.answer = lambda one: 204 if one.attempt == 3 else 500
    settings = {"CHECKLISTS_OTLP_ENDPOINT": collector.url, "CHECKLISTS_RETRY_GAPS": "2,0.2,0.2,0.2", **SOON}
    before = await start_operator("before", **settings)
    run_id = await lab.dispatch(receiver.url)
    await lab.cancel(run_id)
    await eventually(lambda: len(receiver.events(run_id)) == 1)
    await before.stop()
    after = await start_operator("after", **settings)
    await lab.until_settled(run_id)
    await after.stop()

    def attempts() -> list[Span]:
        return [span for _, span in collector.spans() if span.name == "deliver run.cancelled"]

    first, second, third = sorted(attempts(), key=lambda span: int(attributes(span)["attempt"]))
    assert len({span.trace_id for span in (first, second, third)}) == 3
    assert links(second) == [(first.trace_id, first.span_id)]
    assert links(third) == [(second.trace_id, second.span_id)]
    failed = [line for line in lines_of(after) if line["event"] == "attempt.failed"]
    assert [line["trace_id"] for line in failed] == [second.trace_id.hex()]


async def test_work_without_a_collector(start_api: StartApi, start_operator: StartOperator, receiver: Receiver) -> None:
    settings = {"CHECKLISTS_OTLP_ENDPOINT": f"http://127.0.0.1:{free_ports(1)[0]}", **SOON}
    api, key = await start_api(**settings)
    await start_operator(may_log_errors=True, **settings)
    run_id = await dispatch_and_cancel(api, key, receiver)
    await eventually(lambda: len(receiver.events(run_id)) == 1)


async def test_without_traces_a_callers_trace_is_kept_with_the_run_all_the_same(
    client: KubeClient, namespace: str, start_api: StartApi, receiver: Receiver
) -> None:
    api, key = await start_api()
    kept = [
        await dispatch_and_cancel(api, key, receiver, **headers)
        for headers in ({"traceparent": CALLER}, {}, {"traceparent": f"00-{'0' * 32}-{SPAN}-01"})
    ]
    runs = [await client.get(RUN, run_id, namespace) for run_id in kept]
    annotations = [(run["metadata"].get("annotations") or {}).get(TRACEPARENT_ANNOTATION) for run in runs]
    assert annotations == [CALLER, None, None]


def test_programs_that_send_no_traces_read_nothing_of_opentelemetry() -> None:
    code = (
        "import sys, checklist_api.app, checklist_operator.__main__; "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_traceparent_is_read_as_the_recommendation_says() -> None:
    assert valid_traceparent(CALLER) == valid_traceparent(f"01-{TRACE}-{SPAN}-01-more") == CALLER
    for wrong in (
        *(f"00-{TRACE}-{SPAN}-01-more", f"ff-{TRACE}-{SPAN}-01", f"00-{TRACE.upper()}-{SPAN}-01", f"{CALLER}and-more"),
        *(f"00-{TRACE}-{'0' * 16}-01", f"00-{'0' * 32}-{SPAN}-01", "", None, f"cc-{TRACE}-{SPAN}-01-{'x' * 600}"),
    ):
        assert valid_traceparent(wrong) is None, wrong
