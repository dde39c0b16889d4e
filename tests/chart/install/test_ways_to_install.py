"""An installation of another form: keys of yours, photos in a bucket."""

import base64
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.chart.install.conftest import VALUES, WITHOUT_PODS
from tests.chart.install.installed import RELEASE, Installation
from tests.chart.install.story import ORGANIZATION_ID, Story, is_so, story_of
from tests.contract.pictures import picture

from checklist_crds.photos.store import PhotoStore
from checklist_crds.resources.base import ORGANIZATION_LABEL
from checklist_crds.resources.kinds import ORGANIZATION, RUN, TEMPLATE
from checklist_dev.generate.chart_files import CHART
from checklist_dev.programs.binaries import cached_kubectl
from checklist_dev.programs.s3_server import S3Server
from checklist_dev.repository import ROOT

LEASE = "checklist-dispatch-operator"
STEPS = [{"id": "s-door", "type": "photo", "label": "The door"}]
WITH_A_PHOTO = {"name": "Door", "sections": [{"id": "g-1", "title": "Door", "steps": STEPS}]}


def keys_of_the_page(installation: Installation, folder: Path) -> dict[str, str]:
    """Made by the very command of the install page."""
    page = (ROOT / "docs" / "install.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    command = next(block for block in blocks if "create secret generic checklist-keys" in block)
    assert "-n checklists " in command
    (folder / "kubectl").symlink_to(cached_kubectl())
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": str(installation.cluster.kubeconfig)}
    subprocess.run(["sh", "-ec", command], check=True, env=env)
    return installation.secret("checklist-keys")


async def leaders(story: Story, expected: dict[str, str]) -> None:
    """`expected`: lease -> who holds it."""

    def held() -> bool:
        leases = story.installation.get("leases")["items"]
        found = {lease["metadata"]["name"]: lease["spec"].get("holderIdentity") for lease in leases}
        return expected.items() <= found.items()

    await story.comes(held, "a leader")


async def admitted(story: Story, number: int, organization: str) -> None:
    """A run made with kubectl."""
    name = f"r-00000000-0000-4000-8000-{number:012}"
    story.apply(RUN, name, {"templateRef": {"name": "other"}}, organization=organization)
    found = await story.becomes(RUN, name, lambda body: is_so(body, "Admitted"))
    assert found["metadata"]["labels"][ORGANIZATION_LABEL] == organization


async def test_keys_of_yours_and_photos_in_a_bucket(
    installation: Installation, s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = keys_of_the_page(installation, tmp_path)
    credentials = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    literals = [f"--from-literal={name}={value}" for name, value in credentials.items()]
    installation.kubectl("create", "secret", "generic", "bucket", "-n", RELEASE, *literals)
    bucket = {
        **{"bucket": s3.bucket, "prefix": "/chart/", "region": "us-east-1", "endpoint": s3.url},
        **{"allowHttp": True, "existingSecret": "bucket"},
    }
    values = {**VALUES, "photos": {"store": "s3", "s3": bucket}, "secrets": {"existingSecret": "checklist-keys"}}
    installation.helm("install", RELEASE, CHART, *WITHOUT_PODS, values=values)
    assert s3.secret_key not in installation.helm("get", "manifest", RELEASE)
    secrets = installation.get("secrets", "-l", "!helm.sh/hook")["items"]
    assert {one["metadata"]["name"] for one in secrets if one["type"] == "Opaque"} == {"checklist-keys", "bucket"}
    installation.run_job()
    installation.start()
    async with story_of(installation) as story:
        await story.receiver.start()
        await story.admit()
        await leaders(story, {LEASE: f"{RELEASE}-operator"})

        # The API puts a photo into the bucket, the operator reads it there and sends a thumbnail along.
        run = await story.dispatch(await story.template(WITH_A_PHOTO))
        jpeg = {"Content-Type": "image/jpeg"}
        await story.executor(run, "POST", "/answers/s-door/photos", content=picture(), headers=jpeg)
        (photo,) = (await story.arrives(run["run_id"], "step.completed"))["data"]["photos"]
        assert base64.b64decode(photo["thumbnail"])[:2] == b"\xff\xd8"
        for name, value in s3.settings("chart").items():
            monkeypatch.setenv(name, value)
        kept = await PhotoStore.open(f"s3://{s3.bucket}/chart").objects_of_run(ORGANIZATION_ID, run["run_id"])
        assert len(kept) == 2  # the photo and its thumbnail

        other = "other"
        story.apply(ORGANIZATION, other, {"displayName": "Other", "namespace": RELEASE})
        story.apply(TEMPLATE, "other", WITH_A_PHOTO, organization=other)
        await admitted(story, 1, other)

        installation.helm("upgrade", RELEASE, CHART, *WITHOUT_PODS, values={**values, "operator": {"shards": 1}})
        installation.restart()
        await leaders(story, {LEASE: f"{RELEASE}-operator"})
        await admitted(story, 2, other)
    installation.stop()
    installation.helm("uninstall", RELEASE, *WITHOUT_PODS)
    assert installation.secret("checklist-keys") == made
