"""`checklist-dispatch doctor` on a real API server: what is wrong is found, and nothing that is right is blamed."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.operator_lab import SEALING_KEYS, Lab, OperatorProcess, Receiver
from tests.waiting import eventually

from checklist_cli.doctor import cluster, dependencies, work
from checklist_cli.doctor.cluster import needed
from checklist_cli.doctor.finding import Finding, Level
from checklist_cli.program import main
from checklist_crds.crd.definition import CRD_VERSION, CRD_VERSION_ANNOTATION
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.resources.base import RESTORING_ANNOTATION
from checklist_crds.resources.delivery_records import waiting_events
from checklist_crds.resources.kinds import CUSTOM_RESOURCE_DEFINITION, LEASE, ORGANIZATION, RUN, Kind
from checklist_crds.resources.legal_hold import LEGAL_HOLD_ANNOTATION
from checklist_crds.resources.pause import PAUSED_ANNOTATION
from checklist_crds.times import utc_now
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.programs.redis_server import RedisServer
from checklist_dev.system.ports import free_ports

DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment")
ROLE = Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDING = Kind("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
KEY = base64.b64encode(bytes(range(32))).decode()


async def found(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [finding async for finding in findings]


def levels(findings: list[Finding]) -> list[Level]:
    return [each.level for each in findings]


def silent(_: int) -> None:
    return


def in_time(**delta: float) -> Callable[[], Any]:
    """A clock that is ahead by so much."""
    return lambda: utc_now() + timedelta(**delta)


@pytest.fixture
async def here(control_plane: ControlPlane, namespace: str) -> AsyncIterator[KubeClient]:
    """Knows this namespace alone, as an installation that serves it does."""
    async with KubeClient(await KubeConnection.load(str(control_plane.kubeconfig)), namespaces=(namespace,)) as made:
        yield made


async def lease(client: KubeClient, namespace: str, name: str = "checklist-dispatch-operator", **spec: Any) -> None:
    metadata = {"name": name, "namespace": namespace}
    body = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}
    await client.create(LEASE, body, namespace)


def held(by: str, *, seconds_ago: float = 1.0) -> dict[str, Any]:
    at = (utc_now() - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"holderIdentity": by, "leaseDurationSeconds": 15, "renewTime": at}


async def deployment(client: KubeClient, namespace: str, component: str, account: str, *, replicas: int = 1) -> None:
    labels = {"app.kubernetes.io/part-of": "checklist-dispatch", "app.kubernetes.io/component": component}
    pod = {"serviceAccountName": account, "containers": [{"name": "it", "image": "it"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    metadata = {"name": f"it-{component}", "namespace": namespace, "labels": labels}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": DEPLOYMENT.api_version, "kind": DEPLOYMENT.kind, "metadata": metadata, "spec": spec}
    await client.create(DEPLOYMENT, body, namespace)


# -- the cluster -----------------------------------------------------------------------------------------------------


async def test_wrong_definitions_are_found(here: KubeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = await found(cluster.definitions(here))
    assert (finding.level, finding.text) == (Level.OK, f"12 kinds, version {CRD_VERSION}, stored as v1")
    get = here.get
    change: dict[str, Any] = {}

    async def changed(kind: Kind, name: str, *rest: Any) -> Any:
        body = await get(kind, name, *rest)
        if kind is CUSTOM_RESOURCE_DEFINITION and name.startswith("runs."):
            if "version" in change:
                body["metadata"]["annotations"][CRD_VERSION_ANNOTATION] = change["version"]
            body["status"]["storedVersions"] = change.get("stored", ["v1"])
            for condition in body["status"]["conditions"]:
                if condition["type"] == "Established":
                    condition["status"] = change.get("established", "True")
        return body

    monkeypatch.setattr(here, "get", changed)
    for difference, level, says in (
        ({"version": str(CRD_VERSION - 1)}, Level.CRITICAL, f"has version {CRD_VERSION - 1}"),
        ({"version": ""}, Level.CRITICAL, "has version 0"),
        ({"version": str(CRD_VERSION + 1)}, Level.WARNING, "newer than this program's"),
        ({"stored": ["v0", "v1"]}, Level.WARNING, "may be stored as v0, v1"),
        ({"established": "False"}, Level.CRITICAL, "is not served"),
    ):
        change.clear()
        change.update(difference)
        [finding] = await found(cluster.definitions(here))
        assert (finding.level, says in finding.text) == (level, True), finding
        assert "runs.checklists.dev" in finding.text
        assert finding.advice
    monkeypatch.setattr(cluster, "ALL_KINDS", (RUN, Kind("checklists.dev", "v1", "others", "Other")))
    change.clear()
    [finding] = await found(cluster.definitions(here))
    assert (finding.level, finding.text) == (Level.CRITICAL, "others.checklists.dev is not installed")


async def test_missing_leaders_and_wrong_clocks_are_found(here: KubeClient, namespace: str) -> None:
    for ahead_s, level in ((0, Level.OK), (10, Level.WARNING), (-10, Level.WARNING), (90, Level.CRITICAL)):
        assert levels(await found(cluster.clock(here, in_time(seconds=ahead_s)))) == [level], ahead_s
    [finding] = await found(cluster.leaders(here, namespace, utc_now))
    assert (finding.level, "no operator has ever worked" in finding.text) == (Level.CRITICAL, True)
    await lease(here, namespace, **held("pod-of-yesterday"))
    [finding] = await found(cluster.leaders(here, namespace, utc_now))
    assert (finding.level, "pod-of-yesterday holds" in finding.text) == (Level.OK, True)
    later = await found(cluster.leaders(here, namespace, in_time(seconds=30)))
    assert [(each.level, "no operator holds" in each.text) for each in later] == [(Level.CRITICAL, True)]
    assert levels(await found(cluster.leaders(here, namespace, in_time(seconds=-30)))) == [Level.OK, Level.WARNING]


async def test_pods_that_are_missing_are_found(here: KubeClient, namespace: str) -> None:
    [finding] = await found(cluster.programs(here, namespace))
    assert finding.level is Level.UNKNOWN
    await deployment(here, namespace, "api", "api", replicas=2)
    [finding] = await found(cluster.programs(here, namespace))
    assert (finding.level, finding.text) == (Level.CRITICAL, "it-api: 0 of 2 available")
    status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    await here.patch_status(DEPLOYMENT, "it-api", status, namespace)
    [finding] = await found(cluster.programs(here, namespace))
    assert (finding.level, finding.text) == (Level.WARNING, "it-api: 1 of 2 available")
    assert await cluster.api_pods(here, namespace) == 2


async def test_missing_rights_are_found(here: KubeClient, namespace: str) -> None:
    await deployment(here, namespace, "api", "api")
    await deployment(here, namespace, "operator", "operator")
    for component in ("api", "operator"):
        name = f"{namespace}-{component}"
        rules = [
            {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
            for group, resource, verb in needed(component)
            if (component, resource, verb) != ("operator", "runs/status", "patch")
        ]
        meta = {"metadata": {"name": name}}
        await here.create(ROLE, {"apiVersion": ROLE.api_version, "kind": ROLE.kind, **meta, "rules": rules})
        binding = {
            "roleRef": {"apiGroup": ROLE.group, "kind": ROLE.kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": component, "namespace": namespace}],
        }
        await here.create(BINDING, {"apiVersion": ROLE.api_version, "kind": BINDING.kind, **meta, **binding})

    async def settled() -> list[Finding] | None:
        """The API server hears of roles a moment later."""
        findings = await found(cluster.rights(here, namespace))
        return findings if findings[0].level is Level.OK else None

    api, operator = await eventually(settled)
    assert (api.level, operator.level) == (Level.OK, Level.CRITICAL)
    assert operator.text == "operator (operator) may not: patch runs/status"


# -- the work --------------------------------------------------------------------------------------------------------


async def test_a_service_that_works_is_not_blamed(
    here: KubeClient, lab: Lab, operator: OperatorProcess, receiver: Receiver
) -> None:
    await lab.submit(await lab.dispatch(receiver.url))
    run = await lab.dispatch(receiver.url, expires_in_s=3600)
    await lab.answer(run)
    await lab.until(RUN, run, lambda body: not waiting_events(body["status"]))
    keys = [part.partition(":")[0] for part in SEALING_KEYS.split(",")]
    findings = [
        *await found(work.runs(here, keys, utc_now, silent)),
        *await found(work.deliveries(here, utc_now, silent)),
        *await found(work.past_retention(here, utc_now, silent)),
        *await found(cluster.leaders(here, lab.namespace, utc_now)),
        *await found(dependencies.answering([f"http://127.0.0.1:{operator.port}"])),
    ]
    assert set(levels(findings)) == {Level.OK}, findings


async def test_runs_that_no_operator_ends_and_events_that_wait_are_found(here: KubeClient, lab: Lab) -> None:
    run = await lab.dispatch("https://hooks.example.com/", expires_in_s=1)

    async def finding(check: str, minutes: float = 0.0, keys: tuple[str, ...] = ()) -> Finding:
        findings = await found(work.runs(here, keys, in_time(minutes=minutes), silent))
        return next(each for each in findings if each.check == check)

    for minutes, level in ((0, Level.OK), (5, Level.WARNING), (30, Level.CRITICAL)):
        expiry = await finding("expiry", minutes)
        assert (expiry.level, run in expiry.text) == (level, level is not Level.OK), expiry
    under_no_key = await finding("keys", keys=("k9",))
    assert (under_no_key.level, "1 runs" in under_no_key.text) == (Level.CRITICAL, True)
    await lab.answer(run)
    assert (await finding("events", 5)).level is Level.WARNING
    paused = {"metadata": {"annotations": {PAUSED_ANNOTATION: "true"}}}
    await lab.client.patch(ORGANIZATION, lab.organization, paused)
    assert (await finding("events", 5)).level is Level.OK


async def test_overdue_runs_without_a_legal_hold_are_found(here: KubeClient, lab: Lab) -> None:
    await lab.configure(retention={"finishedRunsDays": 1})
    kept, left = await lab.dispatch(), await lab.dispatch()
    for run in (kept, left):
        await lab.submit(run)
        await lab.client.patch_status(RUN, run, {"settled": True}, lab.namespace)
    hold = {"metadata": {"annotations": {LEGAL_HOLD_ANNOTATION: "true"}}}
    await lab.client.patch(RUN, kept, hold, lab.namespace)

    async def finding(days: float) -> Finding:
        [only] = await found(work.past_retention(here, in_time(days=days), silent))
        return only

    assert (await finding(1.5)).level is Level.OK
    late = await finding(2.5)
    assert (late.level, late.text.partition(" are")[0]) == (Level.WARNING, "1 of 2 settled runs")
    await lab.client.patch(RUN, left, hold, lab.namespace)
    assert (await finding(2.5)).level is Level.OK


async def test_a_restore_that_was_not_ended_is_found(here: KubeClient, lab: Lab) -> None:
    async def marked(snapshot: str | None) -> list[Finding]:
        annotations = {RESTORING_ANNOTATION: snapshot}
        await lab.client.patch(ORGANIZATION, lab.organization, {"metadata": {"annotations": annotations}})
        return [finding for finding in await found(work.restored(here)) if lab.organization in finding.text]

    [finding] = await marked("20261122T071822.407Z-1f2e3d4c")
    assert finding.level is Level.WARNING
    assert "20261122T071822.407Z-1f2e3d4c" in finding.text
    assert "run the same command again" in finding.advice
    assert await marked(None) == []


# -- dependencies ----------------------------------------------------------------------------------------------------


def test_keys_that_cannot_be_read_are_found(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"k1:{KEY}\n")
    findings, ids = dependencies.keys({"CHECKLISTS_SERVER_KEY": KEY, "CHECKLISTS_SEALING_KEYS_FILE": str(file)})
    assert (levels(findings), ids) == ([Level.OK, Level.OK], ("k1",))
    for wrong in ({"CHECKLISTS_SERVER_KEY": "short"}, {"CHECKLISTS_SERVER_KEY_FILE": str(tmp_path / "none")}):
        findings, ids = dependencies.keys(wrong)
        assert (levels(findings), ids) == ([Level.CRITICAL, Level.UNKNOWN], ())
        assert "short" not in findings[0].text


async def test_stores_are_tried_and_an_archive_that_is_off_is_no_fault(tmp_path: Path) -> None:
    photos, archive = tmp_path / "photos", tmp_path / "no-folder"
    archive.write_text("a file")
    one = {"CHECKLISTS_PHOTO_STORE": photos.as_uri()}
    assert levels(await found(dependencies.stores(one))) == [Level.OK, Level.OK]
    assert [path for path in photos.rglob("*") if path.is_file()] == []
    other = await found(dependencies.stores({**one, "CHECKLISTS_ARCHIVE_STORE": archive.as_uri()}))
    assert levels(other) == [Level.OK, Level.CRITICAL]
    assert levels(await found(dependencies.stores({}))) == [Level.UNKNOWN]
    (off,) = await found(dependencies.archived({**one, "CHECKLISTS_ARCHIVE": "0"}))
    assert (off.level, off.text.partition(" ")[0]) == (Level.OK, "off")
    (on,) = await found(dependencies.archived({**one, "CHECKLISTS_ARCHIVE": "1"}))
    assert "0 runs in 0 parts" in on.text


async def test_redis_and_programs_are_asked(tmp_path: Path) -> None:
    async def level(settings: Mapping[str, str], replicas: int = 2) -> Level:
        [finding] = await found(dependencies.redis(settings, replicas))
        return finding.level

    with RedisServer(tmp_path) as server:
        assert await level(server.settings()) is Level.OK
        assert await level({"CHECKLISTS_REDIS_URL": f"redis://127.0.0.1:{server.port}/0"}) is Level.CRITICAL
    assert await level(server.settings()) is Level.CRITICAL
    assert (await level({}), await level({}, 1)) == (Level.WARNING, Level.UNKNOWN)
    [silent_one] = await found(dependencies.answering([f"http://127.0.0.1:{free_ports(1)[0]}"]))
    assert (silent_one.level, "no answer" in silent_one.text) == (Level.CRITICAL, True)


# -- the command -----------------------------------------------------------------------------------------------------


async def test_the_command_says_it_in_lines_or_as_json_and_ends_with_the_worst(  # noqa: PLR0917 - fixtures
    control_plane: ControlPlane,
    namespace: str,
    here: KubeClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CHECKLISTS_SERVER_KEY", KEY)
    monkeypatch.setenv("CHECKLISTS_SEALING_KEYS", f"k1:{KEY}")
    monkeypatch.setenv("CHECKLISTS_PHOTO_STORE", tmp_path.as_uri())
    monkeypatch.setenv("CHECKLISTS_WATCH_NAMESPACES", namespace)
    command = ["doctor", "--namespace", namespace, "--kubeconfig", str(control_plane.kubeconfig)]
    assert await asyncio.to_thread(main, command) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "WRONG     leader: no operator has ever worked in the namespace " + namespace in lines
    assert any(line.strip().startswith("to do: ") for line in lines)
    assert "ok        archive: 0 runs in 0 parts" in lines

    await lease(here, namespace, **held("pod-one"))
    assert await asyncio.to_thread(main, [*command, "--json", "--quick"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["level"] == "ok"
    assert [each["level"] for each in document["findings"] if each["check"] == "leader"] == ["ok"]
    assert await asyncio.to_thread(main, [*command, "--quick", "--strict"]) == 1
    assert KEY not in capsys.readouterr().out
