"""Decisions on the Secret with a run's link: when it is due, what is in it, and what the run's status says of it."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.kube.memory_cluster import MemoryCluster

from checklist_crds.kube.errors import KubeConflict
from checklist_crds.kube.run_writes import status_patch
from checklist_crds.resources.kinds import RUN
from checklist_crds.resources.run import Run, RunPhase, RunStatus
from checklist_crds.resources.template_definition import Definition
from checklist_crds.runs.commands import Cancel
from checklist_crds.runs.lifecycle import decide
from checklist_crds.runs.link_secret import (
    LinkWork,
    is_left_over,
    link_secret,
    link_work,
    owner_of,
    with_deleted_link_secret,
    with_link_secret,
    with_refused_link_secret,
)
from checklist_crds.secrets.sealing import ServerKeys, executor_link, executor_token

NOW = datetime(2026, 11, 27, 4, 0, tzinfo=UTC)
LINK = "https://checklists.example/r/r-1#token"
RESOLVED = {
    **{"organization": "acme", "templateId": "t-1", "templateVersion": 1, "templateName": "Opening"},
    **{"revisionRef": {"name": "t-1-v1"}, "identityMode": "anonymous", "stepCount": 1, "applicableSteps": 1},
    "runId": "r-5f3c1a52-6f2e-4d0c-9a57-0d8f5f4b1c11",
}


class Stored:
    """One run in the cluster, which asks for a Secret `person-link`."""

    def __init__(self, spec: dict[str, Any] | None = None, **status: Any) -> None:
        self.cluster = MemoryCluster()
        self.cluster.put(RUN, "r-1", {"templateId": "t-1", "linkSecretRef": {"name": "person-link"}, **(spec or {})})
        self.cluster.objects[RUN, "r-1"]["status"] = {"phase": "Pending", "resolved": RESOLVED, **status}

    def run(self) -> Run:
        return Run.parse(self.cluster.read(RUN, "r-1"))

    async def write(self, run: Run, after: RunStatus) -> Run:
        await self.cluster.json_patch_status(RUN, "r-1", status_patch(run, after))
        return self.run()


@pytest.mark.parametrize(
    ("spec", "status", "work"),
    [
        ({}, {}, LinkWork.ENSURE),
        ({}, {"phase": "InProgress", "linkSecretUid": "u"}, LinkWork.ENSURE),
        ({"expiresAt": "2026-11-27T04:00:00.001Z"}, {}, LinkWork.ENSURE),
        ({"linkSecretRef": None}, {}, LinkWork.NOTHING),
        ({}, {"resolved": None}, LinkWork.NOTHING),
        ({}, {"phase": "Completed"}, LinkWork.NOTHING),
        ({}, {"phase": "Completed", "linkSecretUid": "u"}, LinkWork.REMOVE),
        ({}, {"phase": "Cancelled", "linkSecretUid": "u"}, LinkWork.REMOVE),
        # Expiry takes effect at its instant, whatever is stored.
        ({"expiresAt": "2026-11-27T04:00:00.000Z"}, {"linkSecretUid": "u"}, LinkWork.REMOVE),
    ],
)
def test_an_admitted_run_has_its_secret_while_it_is_open(
    spec: dict[str, Any], status: dict[str, Any], work: LinkWork
) -> None:
    assert link_work(Stored(spec, **status).run(), NOW) is work


def test_the_secret_is_owned_by_the_run_immutable_and_holds_the_link_alone() -> None:
    run = Stored().run()
    secret = link_secret(run, LINK)
    assert base64.b64decode(secret["data"].pop("link")).decode() == LINK
    assert secret.pop("data") == {}
    assert secret == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "person-link",
            "namespace": "checklists",
            "labels": {"checklists.dev/org": "acme"},
            "ownerReferences": [
                {"apiVersion": "checklists.dev/v1", "kind": "Run", "name": "r-1", "uid": "uid-r-1", "controller": True}
            ],
        },
        "type": "checklists.dev/run-link",
        "immutable": True,
    }
    assert link_secret(run, LINK, uid="u")["metadata"]["uid"] == "u"
    assert owner_of(secret) == "r-1"
    for owners in ([], [{"apiVersion": "v1", "kind": "Run", "name": "r-1", "uid": "u"}]):
        assert owner_of({"metadata": {"ownerReferences": owners}}) is None
    with pytest.raises(ValueError, match="linkSecretRef"):
        link_secret(Stored({"linkSecretRef": None}).run(), LINK)


def test_there_is_one_form_of_a_link() -> None:
    keys = ServerKeys(bytes(32))
    token = executor_token(keys, "org-1", "r-1")
    assert executor_link("https://a.example/lists", keys, "org-1", "r-1") == f"https://a.example/lists/r/r-1#{token}"


async def test_a_run_is_not_settled_before_its_secret_is_gone() -> None:
    stored = Stored()
    run = stored.run()
    run = await stored.write(run, with_link_secret(run, "u", now=NOW))
    assert run.status.link_secret_uid == "u"
    assert [(one.type, one.status.value, one.reason) for one in run.status.conditions] == [
        ("LinkReady", "True", "SecretCreated")
    ]
    assert status_patch(run, with_link_secret(run, "u", now=NOW + timedelta(hours=1))) == []
    cancelled = decide(run, Definition(name="-", sections=[]), Cancel(reason="enough"), NOW).after
    assert (cancelled.phase, cancelled.settled) == (RunPhase.CANCELLED, None)
    run = await stored.write(run, cancelled)
    run = await stored.write(run, with_deleted_link_secret(run, now=NOW))
    assert (run.status.settled, run.status.link_secret_uid) == (True, None)
    assert {one.type: one.reason for one in run.status.conditions}["LinkReady"] == "RunEnded"


async def test_what_knows_the_run_without_its_secret_cannot_settle_it() -> None:
    """The API changes a run that it remembers; the Secret was recorded meanwhile."""
    stored = Stored()
    remembered = stored.run()
    cancelled = decide(remembered, Definition(name="-", sections=[]), Cancel(reason="enough"), NOW).after
    assert cancelled.settled
    await stored.write(remembered, with_link_secret(remembered, "u", now=NOW))
    with pytest.raises(KubeConflict):
        await stored.write(remembered, cancelled)
    # What this process makes of its own write has the record of the other one, too.
    body = stored.cluster.read(RUN, "r-1")
    assert remembered.written(remembered.status, body).status.link_secret_uid == "u"


def test_a_refusal_keeps_the_record_of_an_earlier_secret_and_settles_nothing() -> None:
    run = Stored(linkSecretUid="u").run()
    refused = with_refused_link_secret(run, "SecretNotOwned", "Another one.", now=NOW)
    assert (refused.link_secret_uid, refused.settled) == ("u", None)
    ended = Stored(linkSecretUid="u", phase="Cancelled").run()
    over = with_deleted_link_secret(ended, ("SecretsForbidden", "No right."), now=NOW)
    assert (over.link_secret_uid, over.settled, over.conditions[0].reason) == (None, True, "SecretsForbidden")
    with_events = Stored(
        linkSecretUid="u",
        phase="Cancelled",
        outbox=[{"seq": 1, "event": "run.cancelled", "eventId": "evt-1", "ts": "2026-11-27T04:00:00.000Z"}],
    ).run()
    assert with_deleted_link_secret(with_events, now=NOW).settled is None


@pytest.mark.parametrize(
    ("run", "is_left"),
    [
        (None, True),
        (Stored().run(), False),
        (Stored(linkSecretUid="u").run(), False),
        (Stored(phase="Completed", linkSecretUid="u").run(), True),
        (Stored({"linkSecretRef": {"name": "another"}}).run(), True),
        (Stored({"linkSecretRef": {}}).run(), True),
        (Stored({"linkSecretRef": None}).run(), True),
        (Stored(resolved=None).run(), True),
    ],
    ids=["deleted", "open", "recorded", "ended", "of another name", "of its own name", "asks for none", "not admitted"],
)
def test_a_sweep_takes_what_no_open_run_asks_for(run: Run | None, is_left: bool) -> None:
    assert is_left_over({"metadata": {"name": "person-link"}}, run, NOW) is is_left
