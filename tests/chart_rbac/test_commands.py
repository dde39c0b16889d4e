"""Commands of the CronJob and of the maintenance pod, as their ServiceAccounts: none is refused anything that it needs,
and no right is granted that none of them uses."""

import asyncio
import base64
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.backup.lab import Site, account_of, clear, every_kind, execute, made_by_hand
from tests.chart_rbac.audit_log import AuditLog, Right
from tests.chart_rbac.processes import KEY, without_settings
from tests.chart_rbac.release import HOME, RELEASE, WEBHOOK_SECRETS, Release
from tests.contract.conftest import Account, definition, key_object, owned

from checklist_crds import api_keys
from checklist_crds.ids import new_id
from checklist_crds.kube.client import KubeClient, KubeConnection
from checklist_crds.kube.kinds import DELIVERY_REPLAY, LOCAL_ACCOUNT, MEMBER, ORGANIZATION, RUN, SECRET, TEMPLATE
from checklist_crds.resource_types import API_VERSION, RESTORED_ANNOTATION, RESTORING_ANNOTATION
from checklist_crds.sealing import sealing_key_of
from checklist_crds.times import format_timestamp, utc_now
from checklist_dev.controlplane import ControlPlane

OLD, NEW = f"k1:{KEY}", f"k2:{base64.b64encode(bytes(range(2, 34))).decode()}"
ADA = "ada@example.com"


class Pod:
    """Runs commands with a token of the account and nothing else; files of this machine are in place of its volumes."""

    def __init__(self, release: Release, account: str, site: Site) -> None:
        self._environment = {
            **without_settings(),
            **site.environment(),
            "CHECKLISTS_NAMESPACE": HOME,
            "KUBECONFIG": str(release.kubeconfig(account)),
        }

    async def run(self, *words: str, status: int = 0, sealing_keys: str | None = None) -> str:
        keys = {"CHECKLISTS_SEALING_KEYS": sealing_keys} if sealing_keys else {}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "checklist_cli", *words),
            env={**self._environment, **keys},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
        assert process.returncode == status, printed.decode()
        return printed.decode()


async def _organization(cluster: ControlPlane, site: Site) -> tuple[Account, str]:
    """One of each kind, with a status where the operator writes one, and half of it applied. The account, and a run."""
    async with site.api() as base_url:
        account = await account_of(site, base_url)
        template = await account.create_template()
        secret = {"url": "https://hooks.example.com/x", "secret": "a-secret-of-the-test", "events": ["*"]}
        run = await account.dispatch(template["id"], webhook=secret, executor_ref=ADA)
        await execute(base_url, run, "PUT", "/answers/s-clean", json={"value": True})
        await account.http.aclose()
    await every_kind(site, account, str(run["run_id"]))
    key = replace(account, key=api_keys.new_key())
    name = account.organization
    spec = {key: value for key, value in definition().items() if key in ("name", "sections")}
    metadata, as_made = {"name": name}, {"displayName": "Test organization"}
    applied = [
        {"apiVersion": API_VERSION, "kind": "Organization", "metadata": metadata, "spec": as_made},
        owned(MEMBER, "grace", name, HOME, {"name": "Grace", "email": "grace@example.com", "role": "admin"}),
        key_object(key.key, name, HOME),
        owned(TEMPLATE, "by-git", name, HOME, spec),
    ]
    as_git_ops = ("apply", "--server-side", "--field-manager=flux", "-f", "-")  # manages it after a restore, too
    for body in applied:
        await asyncio.to_thread(cluster.run_kubectl, *as_git_ops, stdin=json.dumps(body))
    now = format_timestamp(utc_now())
    ready = {"type": "Ready", "status": "True", "reason": "Valid", "message": "", "lastTransitionTime": now}
    # Dispatched a moment ago: the erasure says that it was made, so that it stays counted.
    quota = {"used": 1, "month": now[:7], "pending": [{"runId": str(run["run_id"]), "since": now}]}
    await site.kube.patch_status(ORGANIZATION, name, {"conditions": [ready], "quota": quota})
    of_the_run = {"filter": {"runRef": {"name": run["run_id"]}}}
    await site.kube.create(DELIVERY_REPLAY, made_by_hand(DELIVERY_REPLAY, "theirs", account, HOME, **of_the_run), HOME)
    await site.kube.patch_status(TEMPLATE, "by-git", {"conditions": [ready]}, HOME)
    binding = {"issuer": "local", "subject": "grace", "at": now}
    await site.kube.patch_status(MEMBER, "grace", {"binding": binding}, HOME)
    # One that names a Secret, which is not in a backup.
    other = await site.kube.get(RUN, str(run["run_id"]), HOME)
    hook = {"url": "https://hooks.example.com/x", "secretRef": {"name": WEBHOOK_SECRETS[HOME], "key": "secret"}}
    body = owned(RUN, new_id("r"), name, HOME, {**other["spec"], "webhook": {**hook, "events": ["*"]}})
    await site.kube.create(RUN, body, HOME)
    return account, str(run["run_id"])


@pytest.fixture(scope="module")
def asked(release: tuple[Release, AuditLog], tmp_path_factory: pytest.TempPathFactory) -> set[tuple[Right, bool]]:
    """What the commands asked for, and whether they got it. That each did its work is asserted on the way."""
    made, audit = release
    made.apply([one for one in made.objects if one["kind"] == "Deployment"])
    asyncio.run(_life_of_the_commands(made, tmp_path_factory.mktemp("commands")))
    return {(access.right, access.allowed) for access in audit.since(0)}


async def _life_of_the_commands(release: Release, folder: Path) -> None:
    url = (folder / "backups").as_uri()
    async with KubeClient(await KubeConnection.load(str(release.cluster.kubeconfig))) as kube:
        site = Site(release.cluster, kube, HOME, folder, base64.b64decode(KEY), OLD)
        account, run_id = await _organization(release.cluster, site)
        timer, shell = Pod(release, "backup", site), Pod(release, "maintenance", site)

        assert "snapshot" in await timer.run("backup", "--to", url)
        assert "stays" in await timer.run("backup", "--prune", url, "--keep-days", "30", "--allow-deferred")
        before = await site.objects()

        found = json.loads(await shell.run("doctor", "--namespace", HOME, "--json", status=2))  # no operator runs here
        unseen = {each["check"] for each in found["findings"] if each["level"] == "unknown"}
        assert {each["level"] for each in found["findings"] if each["check"] == "rights"} == {"ok"}, found
        assert not unseen & {"definitions", "pods", "rights", "leader", "runs", "retries", "retention", "clock"}, found

        await shell.run("reseal", sealing_keys=f"{NEW},{OLD}")
        resealed = await kube.get(RUN, run_id, HOME)
        assert sealing_key_of(resealed["spec"]["webhook"]["sealedSecret"]) == "k2"
        account_of_ada = await kube.get(LOCAL_ACCOUNT, "ada", HOME)
        assert sealing_key_of(account_of_ada["spec"]["sealedPassword"]) == "k2"
        for _ in range(2):  # made, and given another link
            assert "http" in await shell.run("sign-in-link", ADA, "--namespace", HOME)
        told = await shell.run(
            *("erase", "--organization", account.organization, "--email", ADA, "--with-account", "--yes")
        )
        assert '"complete": true' in told
        names = {key.rpartition("/")[2] for key in await site.objects()}
        assert run_id not in names and account.member not in names

        await clear(kube)
        await kube.delete(SECRET, WEBHOOK_SECRETS[HOME], HOME)
        told = await shell.run("restore", "--from", url, status=1)  # that Secret is missing
        assert WEBHOOK_SECRETS[HOME] in told
        after = await site.objects()
        assert after.keys() == {key for key in before if not key.startswith("dashboardsessions/")}
        for key, body in after.items():
            assert body["spec"] == before[key]["spec"], key
        managers = (await kube.get(TEMPLATE, "by-git", HOME))["metadata"]["managedFields"]
        assert "flux" in {each["manager"] for each in managers}
        # One that was stopped just before its last step finds everything there.
        name = account.organization
        annotations = (await kube.get(ORGANIZATION, name))["metadata"]["annotations"]
        again = {RESTORING_ANNOTATION: annotations[RESTORED_ANNOTATION], RESTORED_ANNOTATION: None}
        await kube.patch(ORGANIZATION, name, {"metadata": {"annotations": {**again, "checklists.dev/paused": "true"}}})
        assert "objects: 0 made" in await shell.run("restore", "--from", url, status=1)


def test_no_command_is_refused_anything(asked: set[tuple[Right, bool]]) -> None:
    assert {right for right, allowed in asked if not allowed} == set()


@pytest.mark.parametrize("account", ["backup", "maintenance"])
def test_every_right_is_used(release: tuple[Release, AuditLog], asked: set[tuple[Right, bool]], account: str) -> None:
    assert {right for right, _ in asked if right.account == account} == release[0].rights(account)


def test_a_backup_changes_nothing_and_reads_no_secret(release: tuple[Release, AuditLog]) -> None:
    rights = release[0].rights("backup")
    assert {right.verb for right in rights} == {"list"}
    assert not {right for right in rights if right.resource in ("secrets", "dashboardsessions")}


def test_the_maintenance_pod_reads_the_secrets_of_webhooks_by_name_and_no_key(
    release: tuple[Release, AuditLog],
) -> None:
    secrets = [rule for _, rule in release[0].rules("maintenance") if "secrets" in rule["resources"]]
    assert secrets and all(rule["verbs"] == ["get"] and rule["resourceNames"] for rule in secrets)
    assert f"{RELEASE}-keys" not in {name for rule in secrets for name in rule["resourceNames"]}
