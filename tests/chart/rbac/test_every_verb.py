"""API, operator and commands live their whole life as the chart's ServiceAccounts: the audit log says that nothing is
refused, and that nothing is granted in vain."""

import asyncio
import base64
import contextlib
import json
from pathlib import Path

import pytest
from tests.backup.lab import Site, clear
from tests.chart.install.story import ADMIN, ORGANIZATION_NAME, Story, story_of
from tests.chart.rbac.conftest import BRANCH, HOME, WEBHOOK_SECRETS
from tests.chart.rbac.life import BRANCH_ORGANIZATION, CHECKLIST, GRACE, live
from tests.chart.rbac.rights import Access, Audited
from tests.waiting import eventually

from checklist_crds.resources.base import RESTORED_ANNOTATION, RESTORING_ANNOTATION
from checklist_crds.resources.kinds import DELIVERY_REPLAY, LOCAL_ACCOUNT, MEMBER, ORGANIZATION, RUN, SECRET, TEMPLATE
from checklist_crds.secrets.sealing import sealing_key_of
from checklist_crds.times import format_timestamp, utc_now

BACKUPS = "file:///var/lib/checklists/backups"


@pytest.fixture(scope="module")
def lived(installed: Audited, tmp_path_factory: pytest.TempPathFactory) -> set[Access]:
    """All requests. That each part did its work is asserted on the way."""
    asyncio.run(whole_life(installed, tmp_path_factory.mktemp("site")))
    return installed.accesses()


async def whole_life(installed: Audited, folder: Path) -> None:
    installation = installed.installation
    for _ in ("install", "upgrade"):  # the second leaves alone what is there
        installation.run_job()
    installation.start()
    async with story_of(installation) as story:
        await story.receiver.start()
        story.apply(ORGANIZATION, BRANCH_ORGANIZATION, {"displayName": "Branch", "namespace": BRANCH})
        examined = json.loads(installation.exec("checklist-dispatch", "doctor", "--json", status=2))[
            "findings"
        ]  # no pods run here
        assert [one for one in examined if one["level"] == "unknown" and one["check"] != "redis"] == []
        await live(story)
        run, _ = await story.fails(await story.template(CHECKLIST), executor_ref=GRACE)
        # What a watch has lost is found again by a list now and then.
        granted = installed.rights("operator")
        with contextlib.suppress(AssertionError):
            await eventually(lambda: granted <= {access.right for access in installed.accesses()}, every_s=1)
        installation.stop()
        await commands(story, Site(installation.cluster, story.kube, HOME, folder, b"", ""), run)


async def commands(story: Story, site: Site, run: str) -> None:
    """Of the CronJob and of the maintenance pod, in an installation with one of each kind; half of it is applied."""
    installation, kube = story.installation, story.kube

    def shell(*words: str, status: int = 0) -> str:
        return installation.exec("checklist-dispatch", *words, component="maintenance", status=status)

    story.apply(DELIVERY_REPLAY, "theirs", {"filter": {"runRef": {"name": run}}})
    now = format_timestamp(utc_now())
    # Dispatched a moment ago: the erasure says that it was made, so that it stays counted.
    quota = {"used": 1, "month": now[:7], "pending": [{"runId": run, "since": now}]}
    await kube.patch_status(ORGANIZATION, ORGANIZATION_NAME, {"quota": quota})
    story.apply(ORGANIZATION, ORGANIZATION_NAME, {"displayName": "Example Ltd"})

    printed = installation.run_backup()
    assert "snapshot" in printed and "kept" in printed
    before = await site.objects()

    found = json.loads(shell("doctor", "--namespace", HOME, "--json", status=2))  # no operator runs here
    unseen = {each["check"] for each in found["findings"] if each["level"] == "unknown"}
    assert {each["level"] for each in found["findings"] if each["check"] == "rights"} == {"ok"}, found
    assert not unseen & {"definitions", "pods", "rights", "leader", "runs", "retries", "retention", "clock"}, found

    old, new = installation.secret("checklists-keys")["sealing-keys"], base64.b64encode(bytes(range(2, 34))).decode()
    change = json.dumps({"stringData": {"sealing-keys": f"k2:{new},{old}"}})
    installation.kubectl("patch", "secret", "checklists-keys", "-n", HOME, "-p", change)
    shell("reseal")
    assert sealing_key_of((await kube.get(RUN, run, HOME))["spec"]["webhook"]["sealedSecret"]) == "k2"
    found = (await kube.list_all(LOCAL_ACCOUNT, HOME))[0]
    accounts = {one["spec"]["email"]: one for one in found if one["spec"].get("sealedPassword")}
    assert sealing_key_of(accounts[GRACE]["spec"]["sealedPassword"]) == "k2"
    for person in (ADMIN, "new@example.com"):  # given another link, and made
        assert "http" in shell("sign-in-link", person, "--namespace", HOME)
    whom = ("--organization", ORGANIZATION_NAME, "--email", GRACE, "--with-account")
    assert '"complete": true' in shell("erase", *whom, "--yes")
    emails = {one["spec"]["email"] for kind in (MEMBER, LOCAL_ACCOUNT) for one in (await kube.list_all(kind, HOME))[0]}
    assert GRACE not in emails
    assert f"runs/{HOME}/{run}" not in await site.objects()

    await clear(kube)
    await kube.delete(SECRET, WEBHOOK_SECRETS[HOME], HOME)
    assert WEBHOOK_SECRETS[HOME] in shell("restore", "--from", BACKUPS, status=1)  # that Secret is missing
    after = await site.objects()
    assert after.keys() == {key for key in before if not key.startswith("dashboardsessions/")}
    # (When kubectl made a run was in its metadata only.)
    expected = {key: {"createdAt": body["spec"].get("createdAt"), **before[key]["spec"]} for key, body in after.items()}
    assert {key: {"createdAt": None, **body["spec"]} for key, body in after.items()} == expected
    managers = (await kube.get(TEMPLATE, "by-git", HOME))["metadata"]["managedFields"]
    assert "flux" in {each["manager"] for each in managers}
    # One that was stopped just before its last step finds everything there.
    annotations = (await kube.get(ORGANIZATION, ORGANIZATION_NAME))["metadata"]["annotations"]
    again = {RESTORING_ANNOTATION: annotations[RESTORED_ANNOTATION], RESTORED_ANNOTATION: None}
    metadata = {"annotations": {**again, "checklists.dev/paused": "true"}}
    await kube.patch(ORGANIZATION, ORGANIZATION_NAME, {"metadata": metadata})
    assert "objects: 0 created" in shell("restore", "--from", BACKUPS, status=1)


def test_nothing_that_is_done_with_an_installation_is_refused(lived: set[Access]) -> None:
    assert {access for access in lived if not access.allowed} == set()


@pytest.mark.parametrize("account", ["api", "operator", "bootstrap", "backup", "maintenance"])
def test_every_verb_of_the_chart_s_roles_is_used(installed: Audited, lived: set[Access], account: str) -> None:
    assert {access.right for access in lived if access.right.account == account} == installed.rights(account)
