"""Secrets with the link of a run (`spec.linkSecretRef`), under an operator on a real API server.

There is no garbage collector here: what goes, the operator has deleted.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.operator_lab import BASE_URL, SERVER_KEY, Lab, OperatorProcess, Receiver, StartOperator, condition
from tests.waiting import eventually

from checklist_crds.ids import new_id, object_id
from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.base import API_VERSION, GROUP
from checklist_crds.resources.kinds import EVENT, ORGANIZATION, RUN, SECRET, Kind
from checklist_crds.runs.link_secret import LINK_SECRET_TYPE
from checklist_crds.secrets.sealing import ServerKeys, executor_link
from checklist_crds.values.json_text import JsonObject
from checklist_dev.local.controlplane import ControlPlane
from checklist_dev.local.kubectl import Kubectl

OPERATOR_SETTINGS = {"CHECKLISTS_RESYNC_SECONDS": "1"}
RBAC = "rbac.authorization.k8s.io"
ROLE, ROLE_BINDING = Kind(RBAC, "v1", "roles", "Role"), Kind(RBAC, "v1", "rolebindings", "RoleBinding")
SERVICE_ACCOUNT = Kind("", "v1", "serviceaccounts", "ServiceAccount")


def link_of(lab: Lab, run: str, organization: str | None = None) -> str:
    public_id = object_id("org", organization or lab.organization)
    return executor_link(BASE_URL, ServerKeys(SERVER_KEY), public_id, run)


async def apply(lab: Lab, secret: str = "person-link", **spec: Any) -> str:
    return await lab.apply_run(linkSecretRef={"name": secret}, **spec)


async def until_there(lab: Lab, run: str, secret: str = "person-link") -> JsonObject:
    """The Secret, when the run says that it has one."""
    await lab.until_condition(RUN, run, "LinkReady", status="True", reason="SecretCreated")
    return await lab.get(SECRET, secret)


async def until_gone(lab: Lab, secret: str = "person-link") -> None:
    await eventually(lambda: lab.is_gone(SECRET, secret))


async def present(lab: Lab, secret: str = "person-link") -> JsonObject | None:
    try:
        return await lab.get(SECRET, secret)
    except KubeNotFound:
        return None


def held(secret: JsonObject) -> str:
    return base64.b64decode(secret["data"]["link"]).decode()


async def by_hand(lab: Lab, name: str, **members: Any) -> str:
    """A Secret that a person made; its uid."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"link": "bWluZQ=="}, **members}
    return str((await lab.client.create(SECRET, body, lab.namespace))["metadata"]["uid"])


async def allow(lab: Lab, rules: list[JsonObject], name: str) -> None:
    """To the ServiceAccount of `operator_account`."""
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    await lab.client.create(ROLE, role, lab.namespace)
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "operator", "namespace": lab.namespace}],
    }
    await lab.client.create(ROLE_BINDING, binding, lab.namespace)


@pytest.fixture
async def operator_account(
    lab: Lab, control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path
) -> AsyncIterator[Path]:
    """The kubeconfig of a ServiceAccount that may do all that an operator does in the namespace, but nothing with
    Secrets."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator"}}
    await lab.client.create(SERVICE_ACCOUNT, account, lab.namespace)
    ours = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}
    others = {"apiGroups": ["", "coordination.k8s.io"], "resources": ["events", "leases", "configmaps"], "verbs": ["*"]}
    await allow(lab, [ours, others], "operator")
    whole, subject = f"operator-{lab.namespace}", f"--serviceaccount={lab.namespace}:operator"
    resources = f"organizations.{GROUP},organizations.{GROUP}/status,namespaces"
    await asyncio.to_thread(
        kubectl, "create", "clusterrole", whole, "--verb=get,list,watch,patch", f"--resource={resources}"
    )
    await asyncio.to_thread(kubectl, "create", "clusterrolebinding", whole, f"--clusterrole={whole}", subject)
    token = (await asyncio.to_thread(kubectl, "create", "token", "operator", "-n", lab.namespace)).strip()
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "operator.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    yield path
    for kind in ("clusterrolebinding", "clusterrole"):
        await asyncio.to_thread(kubectl, "delete", kind, whole)


async def test_an_open_run_has_a_secret_with_its_link_and_nothing_else_tells_it(
    lab: Lab, receiver: Receiver, operator: OperatorProcess
) -> None:
    await lab.secret("hook", "a secret of this receiver")
    run = await apply(
        lab, webhook={"url": receiver.url, "events": ["*"], "secretRef": {"name": "hook"}}, expiresInHours=1
    )
    secret = await until_there(lab, run)
    assert held(secret) == link_of(lab, run)
    assert list(secret["data"]) == ["link"]
    assert (secret["type"], secret["immutable"]) == (LINK_SECRET_TYPE, True)
    uid = (await lab.get(RUN, run))["metadata"]["uid"]
    owner = {"apiVersion": API_VERSION, "kind": "Run", "name": run, "uid": uid, "controller": True}
    assert secret["metadata"]["ownerReferences"] == [owner]
    await lab.answer(run)
    await lab.submit(run)
    settled = await lab.until_settled(run)
    assert settled.status.link_secret_uid is None
    assert await lab.is_gone(SECRET, "person-link")
    assert condition(await lab.get(RUN, run), "LinkReady") is not None
    await lab.until_condition(RUN, run, "LinkReady", status="False", reason="RunEnded")
    assert [event["event"] for event in receiver.events(run)] == ["step.completed", "run.completed"]
    token = link_of(lab, run).rpartition("#")[2]
    events, _ = await lab.client.list_all(EVENT, lab.namespace)
    for text in (str(await lab.get(RUN, run)), str(events), operator.output, str(receiver.received)):
        assert token not in text
        assert base64.b64encode(link_of(lab, run).encode()).decode() not in text


async def test_a_secret_that_is_deleted_while_the_run_is_open_is_made_again(
    lab: Lab, operator: OperatorProcess
) -> None:
    run = await apply(lab)
    first = await until_there(lab, run)
    await lab.client.delete(SECRET, "person-link", lab.namespace)

    again = await eventually(lambda: present(lab))
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert held(again) == link_of(lab, run)
    await lab.until(RUN, run, lambda body: body["status"].get("linkSecretUid") == again["metadata"]["uid"])
    written = again["metadata"]["resourceVersion"]
    resyncs = await operator.metric("checklists_watch_events_total")
    await eventually(lambda: _more(operator, resyncs + 8))
    assert (await lab.get(SECRET, "person-link"))["metadata"]["resourceVersion"] == written  # nothing to write again
    await lab.cancel(run)
    await lab.until_settled(run)
    await until_gone(lab)


async def _more(operator: OperatorProcess, than: float) -> bool:
    return await operator.metric("checklists_watch_events_total") > than


async def test_the_secret_of_an_expired_run_goes(lab: Lab, operator: OperatorProcess) -> None:
    """After the other ends: the tests before this one."""
    run = await apply(lab, expiresInHours=3 / 3600)
    await until_there(lab, run)
    assert (await lab.until_settled(run)).status.phase.value == "Expired"
    assert await lab.is_gone(SECRET, "person-link")


async def test_the_secret_goes_with_the_run_and_another_run_may_have_its_name(
    lab: Lab, operator: OperatorProcess
) -> None:
    run = await apply(lab)
    await until_there(lab, run)
    second = await apply(lab)
    refused = await lab.until_condition(RUN, second, "LinkReady", status="False", reason="SecretNotOwned")
    assert "person-link" in refused["message"]
    assert held(await lab.get(SECRET, "person-link")) == link_of(lab, run)
    await lab.client.delete(RUN, run, lab.namespace)
    assert held(await until_there(lab, second)) == link_of(lab, second)
    unnamed = await lab.apply_run(linkSecretRef={})
    assert held(await until_there(lab, unnamed, unnamed)) == link_of(lab, unnamed)
    for deleted in (second, unnamed):
        await lab.client.delete(RUN, deleted, lab.namespace)
    await until_gone(lab)
    await until_gone(lab, unnamed)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({}, id="of another type"),
        pytest.param({"type": LINK_SECRET_TYPE}, id="of the same type"),
        pytest.param({"type": LINK_SECRET_TYPE, "immutable": True}, id="of the same type, and immutable"),
    ],
)
async def test_another_secret_of_this_name_is_neither_changed_nor_deleted(
    lab: Lab, operator: OperatorProcess, members: dict[str, Any]
) -> None:
    uid = await by_hand(lab, "person-link", **members)
    run = await apply(lab)
    await lab.until_condition(RUN, run, "LinkReady", status="False", reason="SecretNotOwned")
    await lab.cancel(run)
    await lab.until_settled(run)
    await lab.client.delete(RUN, run, lab.namespace)
    found = await lab.get(SECRET, "person-link")
    assert (found["metadata"]["uid"], found["data"]) == (uid, {"link": "bWluZQ=="})
    assert "ownerReferences" not in found["metadata"]


async def test_a_secret_that_takes_the_place_of_a_deleted_one_stays(lab: Lab, operator: OperatorProcess) -> None:
    run = await apply(lab)
    await until_there(lab, run)
    # Deleted and made in one moment, so that the operator cannot be faster.
    await operator.stop()
    await lab.client.delete(SECRET, "person-link", lab.namespace)
    uid = await by_hand(lab, "person-link")
    await operator.start()
    await lab.until_condition(RUN, run, "LinkReady", status="False", reason="SecretNotOwned")
    await lab.cancel(run)
    await lab.until_settled(run)
    assert (await lab.get(SECRET, "person-link"))["metadata"]["uid"] == uid


async def test_what_happens_while_no_operator_runs_is_made_up_for(lab: Lab, start_operator: StartOperator) -> None:
    """A run that ends, one that is deleted, one that a backup restores, and a Secret that was not recorded."""
    operator = await start_operator(**OPERATOR_SETTINGS, CHECKLISTS_SWEEP_LINK_SECRETS="1")
    names = ("ends", "deleted", "restored", "unrecorded")
    runs = {name: await apply(lab, name) for name in names}
    secrets = {name: await until_there(lab, run, name) for name, run in runs.items()}
    await by_hand(lab, "of-a-person", type=LINK_SECRET_TYPE)
    await operator.stop()
    await lab.cancel(runs["ends"])
    assert not (await lab.run(runs["ends"])).status.settled
    await lab.client.delete(RUN, runs["deleted"], lab.namespace)
    before = await lab.get(RUN, runs["restored"])
    await lab.client.delete(RUN, runs["restored"], lab.namespace)
    metadata = {"name": runs["restored"], "labels": before["metadata"]["labels"]}
    restored = await lab.client.create(RUN, {**before, "metadata": metadata}, lab.namespace)
    await lab.client.patch_status(RUN, runs["restored"], before["status"], lab.namespace)
    unrecorded = {"linkSecretUid": None, "conditions": None}
    await lab.client.patch_status(RUN, runs["unrecorded"], unrecorded, lab.namespace)

    await operator.start()
    for name in ("ends", "deleted"):
        await until_gone(lab, name)
    await lab.until_settled(runs["ends"])
    assert restored["metadata"]["uid"] != before["metadata"]["uid"]

    async def is_owned_again() -> bool:
        (owner,) = (await lab.get(SECRET, "restored"))["metadata"]["ownerReferences"]
        return bool(owner["uid"] == restored["metadata"]["uid"])

    await eventually(is_owned_again)
    assert (await lab.get(SECRET, "restored"))["metadata"]["uid"] == secrets["restored"]["metadata"]["uid"]
    await until_there(lab, runs["unrecorded"], "unrecorded")
    run = await lab.run(runs["unrecorded"])
    assert run.status.link_secret_uid == secrets["unrecorded"]["metadata"]["uid"]
    assert not await lab.is_gone(SECRET, "of-a-person")


async def test_a_new_base_address_or_server_key_makes_a_new_secret(lab: Lab, start_operator: StartOperator) -> None:
    operator = await start_operator()
    run = await apply(lab)
    before = await until_there(lab, run)
    await operator.stop()
    await start_operator("moved", CHECKLISTS_BASE_URL="https://moved.example")

    link = link_of(lab, run).replace(BASE_URL, "https://moved.example")

    async def moved() -> JsonObject | None:
        found = await present(lab)
        return found if found is not None and held(found) == link else None

    after = await eventually(moved)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    await lab.until(RUN, run, lambda body: body["status"].get("linkSecretUid") == after["metadata"]["uid"])


async def test_a_run_of_another_organization_never_gets_a_link_of_it(
    lab: Lab, client: KubeClient, operator: OperatorProcess
) -> None:
    """A run that says of itself that it is another's, and one of the same id as another's run."""
    victim = f"org-{new_id('t')[2:]}"
    await client.create(
        ORGANIZATION,
        {
            "apiVersion": API_VERSION,
            "kind": "Organization",
            "metadata": {"name": victim},
            "spec": {"displayName": "Victim", "namespace": "elsewhere"},
        },
    )
    theirs = await lab.dispatch()
    resolved = {**(await lab.get(RUN, theirs))["spec"]["resolved"], "organization": victim}
    forged = await apply(lab, "forged", resolved=resolved)
    named = await apply(lab, "named", organizationRef={"name": victim})
    admitted = await lab.until_admitted(forged)  # as one of kubectl: its own organization's
    assert admitted.status.resolved is not None and admitted.status.resolved.organization == lab.organization
    assert held(await until_there(lab, forged, "forged")) == link_of(lab, forged)
    await lab.until_condition(RUN, named, "Admitted", status="False", reason="TemplateNotFound")
    assert condition(await lab.get(RUN, named), "LinkReady") is None
    assert await lab.is_gone(SECRET, "named")


async def test_without_the_right_a_run_says_so_and_gets_its_secret_when_the_right_is_there(
    lab: Lab, start_operator: StartOperator, operator_account: Path
) -> None:
    await start_operator(kubeconfig=operator_account, **OPERATOR_SETTINGS)
    run = await apply(lab)
    refused = await lab.until_condition(RUN, run, "LinkReady", status="False", reason="SecretsForbidden")
    assert "linkSecrets.enabled" in refused["message"]
    assert (await lab.until_admitted(run)).status.link_secret_uid is None
    await allow(lab, [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update", "delete"]}], "links")
    assert held(await until_there(lab, run)) == link_of(lab, run)
    await lab.client.delete(SECRET, "person-link", lab.namespace)
    await eventually(lambda: present(lab))  # without the right to read one
    await lab.client.delete(RUN, run, lab.namespace)
    await until_gone(lab)
