"""`kubectl checklists replay` and `tree`: what became of events, and sending them again."""

import pytest
from tests.cluster.operator_lab import Lab, Receiver, StartOperator
from tests.cluster.replay_lab import failed
from tests.kubectl.plugin_lab import Shell
from tests.waiting import eventually

from checklist_crds.resources.kinds import DELIVERY_REPLAY, WEBHOOK_DELIVERY

AFTER_YEAR_9999 = "9999-12-31T23:59:59-14:00"
"""The API server accepts this time, the service does not."""


@pytest.mark.usefixtures("operator")
async def test_one_delivery_is_sent_again_and_the_tree_shows_every_attempt(
    lab: Lab, shell: Shell, receiver: Receiver
) -> None:
    run, event_id = await failed(lab, receiver)
    receiver.answer = lambda _: 418
    again = await shell("replay", f"cldel/{event_id}")
    assert (again.code, again.out) == (1, f"{event_id} failed http_4xx 418\n"), again.err
    receiver.answer = lambda _: 202
    done = await shell("replay", event_id, "--by", "ada")
    assert (done.code, done.out) == (0, f"{event_id} delivered success 202\n"), done.err
    status = (await lab.get(WEBHOOK_DELIVERY, event_id))["status"]
    assert status["lastReplay"]["requestedBy"] == "ada"

    tree = await shell("tree", run)
    assert tree.code == 0, tree.err
    resolved = (await lab.run(run)).admitted_as
    assert tree.lines[0] == f"Run {run}: Cancelled, 0 of 3 answered"
    revision = f"{resolved.template_name} v1 ({resolved.template_id})"
    assert tree.lines[1] == f"├─ TemplateRevision {resolved.revision_ref.name}: {revision}"
    assert tree.lines[2] == f"└─ event 1 run.cancelled: Delivered after 5 attempts, WebhookDelivery {event_id}"
    assert [line.split()[1:3] for line in tree.lines[3:8]] == [["attempt", str(number)] for number in range(1, 6)]
    assert all("http_5xx, 500" in line for line in tree.lines[3:8])
    assert "replay" in tree.lines[8] and "http_4xx, 418" in tree.lines[8]
    assert tree.lines[9].startswith("   └─ replay") and "success, 202" in tree.lines[9]
    assert len(tree.lines) == 10

    other, unreadable = await lab.dispatch(), await lab.apply_run(expiresAt=AFTER_YEAR_9999)
    whole = await shell("tree")
    assert {line for line in whole.lines if line.startswith("Run ")} == {
        tree.lines[0],
        f"Run {other}: Pending, 0 of 3 answered",
        f"Run {unreadable}: this version cannot read the run {unreadable}; update the plugin",
    }
    everywhere = await shell("tree", "-A")
    assert f"Run {lab.namespace}/{other}: Pending, 0 of 3 answered" in everywhere.lines
    assert (await shell("tree", "-A", run)).code == 2


async def test_a_delivery_that_is_still_retried_is_refused(
    lab: Lab, shell: Shell, receiver: Receiver, start_operator: StartOperator
) -> None:
    await start_operator(CHECKLISTS_RETRY_GAPS="600,600,600,600")
    receiver.answer = lambda _: 500
    run = await lab.dispatch(receiver.url)
    await lab.cancel(run)
    (made,) = await eventually(lambda: lab.deliveries(run))
    event_id = made["metadata"]["name"]
    await lab.until(WEBHOOK_DELIVERY, event_id, lambda body: (body.get("status") or {}).get("nextAttemptAt"))
    refused = await shell("replay", event_id)
    assert refused.code == 1 and "RetryPending" in refused.err and refused.out == ""
    tree = await shell("tree", run)
    assert "Pending after 1 attempt, next at " in tree.out


@pytest.mark.usefixtures("operator")
async def test_many_deliveries_are_counted_and_sent_again(lab: Lab, shell: Shell, receiver: Receiver) -> None:
    runs = [(await failed(lab, receiver))[0] for _ in range(2)]
    counted = await shell("replay", "--organization", lab.organization, "--host", "127.0.0.1", "--dry-run")
    assert counted.code == 0 and "2 selected, 0 done" in counted.out, counted
    receiver.answer = lambda _: 500
    assert (await shell("replay", "--run", runs[0])).code == 1
    receiver.answer = lambda _: 204
    done = await shell("replay", "--run", f"run/{runs[0]}", "--phase", "failed", "--by", "ada")
    assert done.code == 0 and "1 selected, 1 done, 1 delivered, 0 failed, 0 refused" in done.out, done
    made, _ = await lab.client.list_all(DELIVERY_REPLAY, lab.namespace)
    assert {one["spec"].get("requestedBy") for one in made} == {None, "ada"}
    later = await shell("replay", "--organization", lab.organization, "--after", "2100-01-01T00:00:00Z", "--no-wait")
    assert later.code == 0
    body = await lab.until(DELIVERY_REPLAY, later.out.strip(), lambda one: one["status"].get("phase") == "Completed")
    assert body["status"]["total"] == 0


@pytest.mark.usefixtures("operator")
async def test_an_event_without_a_delivery_is_replayed_by_its_run(lab: Lab, shell: Shell, receiver: Receiver) -> None:
    run = await lab.cancelled(receiver.url)
    ((event_id,),) = ([record.event_id for record in (await lab.run(run)).status.delivery_records],)
    missing = await shell("replay", event_id)
    assert missing.code == 2 and f"replay --run RUN --event-id {event_id}" in missing.err
    done = await shell("replay", "--run", run, "--event-id", event_id)
    assert done.code == 0, done
    assert len(receiver.events(run)) == 2


async def test_a_filter_that_is_not_valid_is_refused(lab: Lab, shell: Shell) -> None:
    for arguments, why in (
        ([], "give a DELIVERY"),
        (["--host", "hooks.example.com"], "--organization"),
        (["--organization", "acme", "--event-id", "evt-1"], "--event-id needs --run"),
        (["--organization", "acme", "--after", "yesterday"], "--after: "),
        (["evt-1"], "evt-<uuid>"),
        (["evt-0b9c7a52-6f0e-4f58-9a0c-3c1c9a9f2f10", "--host", "x"], "not both"),
        (["--outcome", "unlucky"], "invalid choice"),
    ):
        done = await shell("replay", *arguments)
        assert done.code == 2 and why in done.err, done
    assert (await lab.client.list_all(DELIVERY_REPLAY, lab.namespace))[0] == []
