"""Installations of other forms: photos in a bucket, keys of yours, an operator in shards. Real programs, a real API."""

import asyncio
import base64
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from checklist_crds.kube.kinds import RUN
from checklist_crds.photo_store import PhotoStore
from checklist_crds.slots import SLOT_LABEL, slot_of
from checklist_dev.binaries import cached_kubectl
from checklist_dev.chart_files import CHART
from checklist_dev.controlplane import ControlPlane
from checklist_dev.first_run import BUILT_IN
from checklist_dev.repository import ROOT
from checklist_dev.s3_server import S3Server

from .conftest import RELEASE, VALUES, WITHOUT_PODS
from .installed import Installation
from .story import Story, wait_for

LEASE = "checklist-dispatch-operator"
STEPS = [{"id": "s-door", "type": "photo", "label": "The door"}]
WITH_A_PHOTO = {"name": "Door", "sections": [{"id": "g-1", "title": "Door", "steps": STEPS}]}


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Empty for each test: definitions belong to the release that made them."""
    with ControlPlane(tmp_path_factory.mktemp("empty-cluster"), ephemeral=True) as plane:
        yield plane


def install(installation: Installation, **values: Any) -> None:
    installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values={**VALUES, **values})
    installation.run_job()


def picture() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (640, 480), "orange").save(made, "JPEG")
    return made.getvalue()


def test_photos_are_in_a_bucket_that_the_credentials_of_a_secret_open(
    installation: Installation, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put there by the API, read from there by the operator, which sends a thumbnail along."""
    credentials = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    literals = [f"--from-literal={name}={value}" for name, value in credentials.items()]
    installation.kubectl("create", "secret", "generic", "bucket", "-n", RELEASE, *literals)
    bucket = {
        **{"bucket": s3.bucket, "prefix": "/chart/", "region": "us-east-1", "endpoint": s3.url},
        **{"allowHttp": True, "existingSecret": "bucket"},
    }
    install(installation, photos={"store": "s3", "s3": bucket})
    installation.start()
    story = Story(installation)
    story.admit()
    story.dispatch(WITH_A_PHOTO)
    with story.listening():
        story.executor("POST", "/answers/s-door/photos", image=picture())
        wait_for(lambda: story.received, "the event", installation=installation)
    (photo,) = story.received[0]["data"]["photos"]
    assert base64.b64decode(photo["thumbnail"])[:2] == b"\xff\xd8"
    for name, value in s3.settings("chart").items():
        monkeypatch.setenv(name, value)
    kept = asyncio.run(PhotoStore.open(f"s3://{s3.bucket}/chart").objects_of(story.run_id))
    assert len(kept) == 2  # the photo and its thumbnail
    assert str(s3.secret_key) not in installation.helm("get", "manifest", RELEASE)


def test_the_keys_that_the_install_page_makes_are_taken_and_stay_yours(
    installation: Installation, tmp_path: Path
) -> None:
    """By its very command, but for the namespace."""
    page = (ROOT / "docs" / "install.md").read_text()
    command = next(
        block
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        if "create secret generic checklist-keys" in block
    )
    assert "-n checklists " in command
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(cached_kubectl())
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "KUBECONFIG": str(installation.cluster.kubeconfig)}
    subprocess.run(["sh", "-ec", command], check=True, env=env)
    made = installation.secret("checklist-keys")
    install(installation, secrets={"existingSecret": "checklist-keys"})
    assert {
        secret["metadata"]["name"]
        for secret in installation.get("secrets", "-l", "!helm.sh/hook")["items"]
        if secret["type"] == "Opaque"
    } == {"checklist-keys"}
    installation.start()
    story = Story(installation)
    story.begin()
    installation.helm("uninstall", RELEASE, *WITHOUT_PODS)
    assert installation.secret("checklist-keys") == made


def custom(kind: str, called: str, /, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "checklists.dev/v1", "kind": kind, "metadata": {"name": called}, "spec": spec}


def second_organization(installation: Installation) -> str:
    """One whose work is another shard's than the first one's."""
    first = int(slot_of("example-ltd")) % 2
    name = next(name for number in range(99) if int(slot_of(name := f"other-{number}")) % 2 != first)
    template = {key: BUILT_IN[key] for key in ("name", "sections")}
    for one in (
        custom("Organization", name, displayName="Other", namespace=RELEASE),
        custom("Template", "other", organizationRef={"name": name}, **template),
    ):
        installation.kubectl("create", "-n", RELEASE, "-f", "-", stdin=json.dumps(one))
    return name


def holders(installation: Installation) -> dict[str, str]:
    """Lease -> who holds it."""
    leases = installation.get("leases")["items"]
    return {lease["metadata"]["name"]: lease["spec"].get("holderIdentity") or "" for lease in leases}


def test_shards_divide_the_work_each_with_its_lease_and_become_one_operator_again(installation: Installation) -> None:
    install(installation, operator={"shards": 2})
    installation.start()
    held = {f"{LEASE}-{shard}-of-2": f"{RELEASE}-operator-{shard}" for shard in range(2)}
    wait_for(lambda: holders(installation) == held, "a leader of each shard", installation=installation)
    story = Story(installation)
    story.admit()
    other = second_organization(installation)

    def admitted(number: int, organization: str) -> bool:
        """A run made with kubectl, which the shard of its organization admits."""
        name = f"r-00000000-0000-4000-8000-{number:012}"
        run = custom(RUN.kind, name, organizationRef={"name": organization}, templateRef={"name": "other"})
        installation.kubectl("apply", "-n", RELEASE, "-f", "-", stdin=json.dumps(run))
        found = installation.get("run", name)
        conditions = found.get("status", {}).get("conditions", [])
        told = [one for one in conditions if (one["type"], one["status"]) == ("Admitted", "True")]
        return bool(told) and found["metadata"]["labels"][SLOT_LABEL] == slot_of(organization)

    wait_for(lambda: admitted(1, other), "an admission by the other shard", installation=installation)
    story.dispatch(BUILT_IN)
    with story.listening():
        story.executor("PUT", "/answers/s-clean", {"value": True})
        wait_for(lambda: story.received, "the first one's event", installation=installation)

    installation.helm("upgrade", RELEASE, CHART, *WITHOUT_PODS, values={**VALUES, "operator": {"shards": 1}})
    installation.restart()
    wait_for(lambda: holders(installation).get(LEASE) == f"{RELEASE}-operator", "one leader", installation=installation)
    wait_for(lambda: admitted(2, other), "an admission by the one operator", installation=installation)
