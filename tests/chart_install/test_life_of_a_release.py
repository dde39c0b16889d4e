"""Install, upgrade from the previous chart with live runs, roll back, uninstall and install again, on a real API.

Nothing starts pods here: API and operator run as `installed` says. tests/chart does the same with real pods.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from checklist_dev.chart_files import CHART
from checklist_dev.controlplane import ControlPlane
from checklist_dev.crd_install import VERSION_ANNOTATION, crd_version
from checklist_dev.failures import Failure
from checklist_dev.repository import CRDS

from .conftest import RELEASE, VALUES, WITHOUT_PODS
from .installed import Installation
from .story import Story, wait_for

PREVIOUS = Path(__file__).parent / "previous"


@pytest.fixture
def previous(tmp_path: Path) -> Path:
    """The chart of version 0.1.0, with definitions of the version before this one.

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


def test_runs_keys_and_waiting_deliveries_survive_upgrade_rollback_and_uninstall(
    installation: Installation, previous: Path
) -> None:
    ours = {crd_version(yaml.safe_load(file.read_text())) for file in CRDS.glob("*.yaml")}
    installation.helm("install", RELEASE, previous, *WITHOUT_PODS, values=VALUES)
    assert definitions(installation) == {version - 1 for version in ours}
    assert "made the organization example-ltd" in installation.run_job()
    assert "has an administrator: ada@example.com" in installation.run_job()
    keys = installation.secret(f"{RELEASE}-keys")
    installation.start()
    story = Story(installation)
    story.begin()
    due = story.waiting()

    # The upgrade, while both serve; then they are replaced by what it installed.
    installation.helm("upgrade", RELEASE, CHART, *WITHOUT_PODS, values=VALUES)
    assert definitions(installation) == ours
    story.check()
    installation.restart()
    story.check()
    assert installation.secret(f"{RELEASE}-keys") == keys
    assert f"{story.url}/dashboard/sign-in#link=" in installation.exec(
        "checklist-dispatch", "sign-in-link", "ada@example.com"
    )

    installation.helm("rollback", RELEASE, "1", *WITHOUT_PODS)
    installation.restart()
    story.check()
    assert installation.secret(f"{RELEASE}-keys") == keys

    installation.stop()
    installation.helm("uninstall", RELEASE, *WITHOUT_PODS)
    of_the_release = f"app.kubernetes.io/instance={RELEASE},!helm.sh/hook,app.kubernetes.io/component!=bootstrap"
    kinds = "deployments,services,serviceaccounts,roles,rolebindings"
    assert installation.get(kinds, "-l", of_the_release)["items"] == []
    assert [run["metadata"]["name"] for run in installation.get("runs")["items"]] == [story.run_id]
    assert len(installation.get("apikeys")["items"]) == 1
    assert story.waiting() == due
    assert installation.secret(f"{RELEASE}-keys") == keys

    # Who installs again finds all of it, and what waited is sent.
    installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=VALUES)
    story.make_due()
    with story.listening():
        installation.start()
        assert story.rest("GET", f"/v1/runs/{story.run_id}")["run_id"] == story.run_id
        wait_for(lambda: story.received, "the delivery that waited", installation=installation)
        assert story.received[0]["event"] == "step.completed"
        assert story.received[0]["delivery_attempt"] == 2
        assert story.executor("GET", "")["run_id"] == story.run_id


def test_newer_definitions_and_lost_keys_stop_helm_before_anything_is_changed(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    other = Installation(cluster, "other", tmp_path)
    other.kubectl("create", "namespace", "other")
    values = {**VALUES, "fullnameOverride": "other"}
    one = next(CRDS.glob("*.yaml"))
    name = yaml.safe_load(one.read_text())["metadata"]["name"]
    if not definitions(other):
        other.kubectl("create", "-f", str(one))
    other.kubectl("annotate", "--overwrite", "crd", name, f"{VERSION_ANNOTATION}=999")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        other.helm("install", "other", CHART, *WITHOUT_PODS, values=values)
    assert f"the cluster has version 999 of {name}" in refused.value.stderr

    # A second release leaves the definitions to the first.
    values["crds"] = {"enabled": False}
    other.helm("install", "other", CHART, *WITHOUT_PODS, values=values)
    # (Where the cluster can be asked, keys can be rotated: only those of a rendering without one are immutable.)
    assert "immutable" not in other.get("secret", "other-keys")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        other.helm("install", "second", CHART, *WITHOUT_PODS, values={**values, "fullnameOverride": "second"})
    assert "the namespace other holds the release other already" in refused.value.stderr
    for claim, mode, told in (
        ("alone", "ReadWriteOncePod", "the claim alone can be mounted by one pod only"),
        ("one-node", "ReadWriteOnce", "topologyKey: kubernetes.io/hostname"),
    ):
        spec = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim}, "spec": spec}
        other.kubectl("create", "-n", "other", "-f", "-", stdin=json.dumps(body))
        photos = {"store": "persistentVolume", "persistentVolume": {"existingClaim": claim}}
        try:
            said = other.helm("upgrade", "other", CHART, "--dry-run=server", values={**values, "photos": photos})
        except subprocess.CalledProcessError as error:
            said = error.stderr
        assert told in said and ("podAffinity" in said) is (claim == "one-node")
    other.kubectl("delete", "secret", "other-keys", "-n", "other")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        other.helm("upgrade", "other", CHART, *WITHOUT_PODS, values=values)
    assert "the Secret other-keys with the installation's keys is gone" in refused.value.stderr
    with pytest.raises(Failure, match="NotFound"):
        other.get("secret", "other-keys")
