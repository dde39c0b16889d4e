"""Install, upgrade from the previous chart with live runs, roll back, uninstall and install again, on a real API.

Nothing starts pods here: API and operator run as `installed` says. tests/chart/node does the same with real pods.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.chart.install.conftest import VALUES, WITHOUT_PODS
from tests.chart.install.installed import RELEASE, Installation
from tests.chart.install.story import Story, story_of

from checklist_crds.resources.kinds import WEBHOOK_DELIVERY
from checklist_crds.values.json_text import JsonObject
from checklist_dev.browser.checklists import checklist, step
from checklist_dev.failures import Failure
from checklist_dev.generate.chart_files import CHART
from checklist_dev.local.crd_install import VERSION_ANNOTATION, crd_version
from checklist_dev.repository import CRDS
from checklist_dev.system.ports import free_ports

PREVIOUS = Path(__file__).parent / "previous"


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The chart of a version before 0.1.0, with definitions of the version before this one.

    Its programs are those of today, since no others are here: so its operator has the Role that these need.
    """
    chart = tmp_path / "previous"
    shutil.copytree(PREVIOUS, chart)
    folder = chart / "files" / "crds"
    folder.mkdir(parents=True)
    for file in CRDS.glob("*.yaml"):
        definition = yaml.safe_load(file.read_text())
        definition["metadata"]["annotations"][VERSION_ANNOTATION] = str(crd_version(definition) - 1)
        columns = definition["spec"]["versions"][0]["additionalPrinterColumns"]
        columns.pop()
        (folder / file.name).write_text(yaml.safe_dump(definition))
    return chart


def definitions(installation: Installation) -> set[int]:
    found = installation.get("crds")["items"]
    return {crd_version(body) for body in found if body["spec"]["group"] == "checklists.dev"}


def waiting(installation: Installation) -> JsonObject | None:
    """The status of the delivery that waits for its second attempt."""
    for delivery in installation.get("webhookdeliveries")["items"]:
        status = delivery.get("status", {})
        if status.get("phase") == "Pending" and status.get("nextAttemptAt"):
            return dict(status)
    return None


async def check(story: Story, run: JsonObject) -> None:
    """The run, its link, the key, the account and the delivery are as they were."""
    assert (await story.call("GET", f"/v1/runs/{run['run_id']}"))["run_id"] == run["run_id"]
    assert (await story.executor(run, "GET", ""))["run_id"] == run["run_id"]
    status = waiting(story.installation)
    assert status is not None and status["attempt"] == 1


async def test_state_survives_upgrade_rollback_and_uninstall(installation: Installation, previous: Path) -> None:
    ours = {crd_version(yaml.safe_load(file.read_text())) for file in CRDS.glob("*.yaml")}
    installation.helm("install", RELEASE, previous, *WITHOUT_PODS, values=VALUES)
    assert definitions(installation) == {version - 1 for version in ours}
    assert "created the organization example-ltd" in installation.run_job()
    assert "has an administrator: ada@example.com" in installation.run_job()
    keys = installation.secret(f"{RELEASE}-keys")
    installation.start()
    async with story_of(installation) as story:
        await story.admit()
        story.receiver.port = free_ports(1)[0]  # no receiver listens there yet
        run = await story.dispatch(await story.template(checklist(step("clean"))))
        await story.executor(run, "PUT", "/answers/s-clean", json={"value": True})
        due = await story.comes(lambda: waiting(installation), "a delivery that waits")

        # The upgrade, while both serve; then they are replaced by what it installed.
        installation.helm("upgrade", RELEASE, CHART, *WITHOUT_PODS, values=VALUES)
        assert definitions(installation) == ours
        await check(story, run)
        installation.restart()
        await check(story, run)
        assert installation.secret(f"{RELEASE}-keys") == keys

        installation.helm("rollback", RELEASE, "1", *WITHOUT_PODS)
        installation.restart()
        await check(story, run)
        assert installation.secret(f"{RELEASE}-keys") == keys

        installation.stop()
        installation.helm("uninstall", RELEASE, *WITHOUT_PODS)
        of_the_release = f"app.kubernetes.io/instance={RELEASE},!helm.sh/hook,app.kubernetes.io/component!=bootstrap"
        kinds = "deployments,services,serviceaccounts,roles,rolebindings"
        assert installation.get(kinds, "-l", of_the_release)["items"] == []
        assert [one["metadata"]["name"] for one in installation.get("runs")["items"]] == [run["run_id"]]
        assert len(installation.get("apikeys")["items"]) == 1
        assert waiting(installation) == due
        assert installation.secret(f"{RELEASE}-keys") == keys

        # Who installs again finds all of it, and what waited is sent, since an hour has passed.
        installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=VALUES)
        (delivery,) = installation.get("webhookdeliveries")["items"]
        past = {"nextAttemptAt": "2026-01-01T00:00:00.000Z"}
        await story.kube.patch_status(WEBHOOK_DELIVERY, delivery["metadata"]["name"], past, installation.namespace)
        await story.receiver.start()
        installation.start()
        assert (await story.arrives(run["run_id"], "step.completed"))["delivery_attempt"] == 2
        assert (await story.call("GET", f"/v1/runs/{run['run_id']}"))["run_id"] == run["run_id"]
        assert (await story.executor(run, "GET", ""))["run_id"] == run["run_id"]


def test_newer_definitions_and_lost_keys_stop_helm_before_anything_is_changed(installation: Installation) -> None:
    one = next(CRDS.glob("*.yaml"))
    name = yaml.safe_load(one.read_text())["metadata"]["name"]
    installation.kubectl("create", "-f", str(one))
    installation.kubectl("annotate", "--overwrite", "crd", name, f"{VERSION_ANNOTATION}=999")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=VALUES)
    assert f"the cluster has version 999 of {name}" in refused.value.stderr

    # A second release leaves the definitions to the first.
    values = {**VALUES, "crds": {"enabled": False}}
    installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=values)
    # (Where Helm reads the cluster, keys can be rotated: only those of a rendering without one are immutable.)
    assert "immutable" not in installation.get("secret", f"{RELEASE}-keys")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        installation.helm("install", "second", CHART, *WITHOUT_PODS, values={**values, "fullnameOverride": "second"})
    assert f"the namespace {RELEASE} holds the release {RELEASE} already" in refused.value.stderr
    for claim, mode, message in (
        ("alone", "ReadWriteOncePod", "the claim alone can be mounted by one pod only"),
        ("one-node", "ReadWriteOnce", "topologyKey: kubernetes.io/hostname"),
    ):
        spec = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim}, "spec": spec}
        installation.kubectl("create", "-n", RELEASE, "-f", "-", stdin=json.dumps(body))
        photos = {"store": "persistentVolume", "persistentVolume": {"existingClaim": claim}}
        try:
            said = installation.helm("upgrade", RELEASE, CHART, "--dry-run=server", values={**values, "photos": photos})
        except subprocess.CalledProcessError as error:
            said = error.stderr
        assert message in said and ("podAffinity" in said) is (claim == "one-node")
    installation.kubectl("delete", "secret", f"{RELEASE}-keys", "-n", RELEASE)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        installation.helm("upgrade", RELEASE, CHART, *WITHOUT_PODS, values=values)
    assert f"the Secret {RELEASE}-keys with the installation's keys is gone" in refused.value.stderr
    with pytest.raises(Failure, match="NotFound"):
        installation.get("secret", f"{RELEASE}-keys")
