"""Runs that an editor of one namespace makes to get at another organization, or past the plan of their own."""

import asyncio
import base64
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from tests.cluster.operator_lab import SERVER_KEY, Lab, StartOperator, resource
from tests.waiting import until_the_next_second

from checklist_crds.archive import ArchiveStore, Folder, Record, encode_part
from checklist_crds.ids import object_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.errors import KubeForbidden
from checklist_crds.resources.base import API_VERSION
from checklist_crds.resources.kinds import NAMESPACE, ORGANIZATION, RUN
from checklist_crds.runs.seal import CREATED_WITHIN, SEAL_ANNOTATION, RunSeals
from checklist_crds.secrets.sealing import ServerKeys
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.local.controlplane import ControlPlane


async def second_lab(lab: Lab) -> Lab:
    """Another organization, in another namespace."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    await lab.client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    made = Lab(lab.client, name)
    await made.prepare()
    return made


async def used(lab: Lab) -> int:
    status = (await lab.get(ORGANIZATION, lab.organization)).get("status") or {}
    return int((status.get("quota") or {}).get("used", 0))


async def test_a_run_that_says_of_itself_that_it_is_admitted_is_counted_and_stays_in_its_organization(
    lab: Lab, start_operator: StartOperator
) -> None:
    other = await second_lab(lab)
    await start_operator(CHECKLISTS_WATCH_NAMESPACES=f"{lab.namespace},{other.namespace}")
    await lab.configure(plan={"name": "small", "runsPerMonth": 1})
    resolved = (await lab.until_admitted(await lab.apply_run())).resolved
    assert resolved is not None
    copied = {name: value for name, value in resolved.to_kube().items() if name != "bound"}
    refused = await lab.apply_run(resolved=copied)
    await lab.until_condition(RUN, refused, "Admitted", status="False", reason="QuotaExceeded")
    assert await used(lab) == 1
    # Of another organization: neither its permits, nor its plan, nor its archive.
    template = {"templateRef": {"name": other.template["metadata"]["name"]}}
    for spec, reason in (
        ({"resolved": copied, **template}, "Admitted"),
        ({"resolved": copied, "organizationRef": {"name": lab.organization}, **template}, "OrganizationNotFound"),
    ):
        run = await other.apply_run(**spec)
        await other.until_condition(RUN, run, "Admitted", reason=reason)
        admitted = (await other.get(RUN, run))["status"].get("resolved")
        assert (admitted or {}).get("organization") in (None, other.organization)
    assert (await used(lab), await used(other)) == (1, 1)


async def test_an_id_that_another_run_has_or_had_is_refused(
    lab: Lab, start_operator: StartOperator, tmp_path: Path
) -> None:
    other = await second_lab(lab)
    await start_operator(CHECKLISTS_WATCH_NAMESPACES=f"{lab.namespace},{other.namespace}")
    of_the_api, by_kubectl, archived = await lab.dispatch(), await lab.apply_run(), await lab.dispatch()
    await lab.until_admitted(by_kubectl)
    store = ArchiveStore.open((tmp_path / "photos").as_uri())
    record = Record.of(await lab.get(RUN, archived), None, [])
    part = encode_part(
        Folder(object_id("org", lab.organization), "2026-11"), [record], written_at=utc_now(), written_by="operator-0"
    )
    await store.put(part.place.key, part.content)
    await store.put(part.place.manifest_key, part.manifest.encoded())
    await lab.client.delete(RUN, archived, lab.namespace)
    for taken in (of_the_api, by_kubectl, archived):
        spec = {"templateRef": {"name": other.template["metadata"]["name"]}}
        await other.client.create(RUN, resource("Run", taken, spec, namespace=other.namespace), other.namespace)
        refused = await other.until_condition(RUN, taken, "Admitted", status="False", reason="RunIdTaken")
        assert lab.organization not in refused["message"] and lab.namespace not in refused["message"]
    assert await used(other) == 0


async def test_a_run_of_the_api_that_is_created_again_with_its_seal_is_counted_like_one_of_kubectl(
    lab: Lab, start_operator: StartOperator
) -> None:
    await start_operator()
    await lab.configure(plan={"name": "small", "runsPerMonth": 1})
    first = await lab.dispatch(ago=CREATED_WITHIN + timedelta(seconds=10))
    admitted = await lab.until_admitted(first)
    assert admitted.status.resolved is not None
    second = await lab.dispatch(ago=timedelta(days=30))
    await lab.until_condition(RUN, second, "Admitted", status="False", reason="QuotaExceeded")
    assert await used(lab) == 1


async def test_a_service_account_of_edit_brings_no_run_past_the_plan(
    lab: Lab, start_operator: StartOperator, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Neither a copy of what the status of an admitted run says, nor a run of the API that it creates again."""
    kubeconfig = await asyncio.to_thread(editor_of, lab.namespace, control_plane, tmp_path)
    admitted, old = await lab.apply_run(), await lab.dispatch()
    await start_operator()
    resolved = (await lab.until_admitted(admitted)).status.to_kube()["resolved"]
    await lab.configure(plan={"name": "small", "runsPerMonth": 1})
    async with KubeClient(await KubeConnection.load(str(kubeconfig)), namespaces=(lab.namespace,)) as editor:
        with pytest.raises(KubeForbidden):
            await editor.patch_status(RUN, admitted, {"resolved": resolved}, lab.namespace)
        body = await editor.get(RUN, old, lab.namespace)
        # As it is when its seal has expired, since no test waits for that.
        spec = {**body["spec"], "createdAt": format_timestamp(utc_now() - CREATED_WITHIN - timedelta(seconds=10))}
        metadata = {name: body["metadata"][name] for name in ("name", "namespace", "labels")}
        again = lab.seals.sealed({**body, "metadata": metadata, "spec": spec})
        copied = resource(
            "Run",
            f"r-{uuid.uuid4()}",
            {"templateRef": {"name": lab.template["metadata"]["name"]}, "resolved": resolved},
            namespace=lab.namespace,
        )
        await editor.delete(RUN, old, lab.namespace)
        for run in (again, copied):
            await editor.create(RUN, run, lab.namespace)
            name = run["metadata"]["name"]
            await lab.until_condition(RUN, name, "Admitted", status="False", reason="QuotaExceeded")
    assert await used(lab) == 1


def editor_of(namespace: str, cluster: ControlPlane, folder: Path) -> Path:
    """The kubeconfig of a ServiceAccount with what the chart adds to the role `edit`, in this namespace alone."""
    for what in (
        ("serviceaccount", "editor"),
        ("role", "editor", "--verb=get,list,watch,create,update,patch,delete", "--resource=runs.checklists.dev"),
        ("rolebinding", "editor", "--role=editor", f"--serviceaccount={namespace}:editor"),
    ):
        cluster.run_kubectl("create", *what, "-n", namespace)
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": cluster.run_kubectl("create", "token", "editor", "-n", namespace).strip()}
    made = folder / "kubeconfig-of-the-editor"
    made.write_text(yaml.safe_dump(config))
    return made


async def test_what_an_earlier_version_restored_is_kept_admitted(lab: Lab, start_operator: StartOperator) -> None:
    """It has the seal of the API and was created later than that; from now on its status says that it is admitted."""
    restored = await lab.dispatch(ago=timedelta(days=1))
    await until_the_next_second()
    await start_operator()
    kept = await lab.until(RUN, restored, lambda run: (run.get("status") or {}).get("resolved"))
    resolved = (await lab.get(RUN, restored))["spec"]["resolved"]
    assert kept["status"]["resolved"] == {**resolved, "bound": True}
    assert not kept["status"].get("conditions"), "no operator has admitted it"
    assert await used(lab) == 0


async def test_runs_of_the_former_version_stay_admitted(lab: Lab, start_operator: StartOperator) -> None:
    old_key = RunSeals(ServerKeys(bytes(range(2, 34))))
    body = await lab.get(RUN, await lab.dispatch())
    runs = {}
    for sealed in (False, True):
        name = f"r-{uuid.uuid4()}"
        run = {"apiVersion": API_VERSION, "kind": "Run", "spec": body["spec"]}
        run["metadata"] = {"name": name, "namespace": lab.namespace, "labels": body["metadata"]["labels"]}
        await lab.client.create(RUN, old_key.sealed(run) if sealed else run, lab.namespace)
        runs[name] = sealed
    await until_the_next_second()
    await start_operator(CHECKLISTS_SERVER_KEY=f"{_text(SERVER_KEY)},{_text(bytes(range(2, 34)))}")
    for name, sealed in runs.items():
        kept = await lab.until(RUN, name, lambda run: (run.get("status") or {}).get("resolved"))
        assert kept["status"]["resolved"].get("bound", False) is sealed
        assert (SEAL_ANNOTATION in kept["metadata"].get("annotations", {})) is sealed
    assert "resolved" not in (await lab.get(RUN, body["metadata"]["name"])).get("status", {})


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
