"""What became of an event, as kubectl shows it; and a replay by kubectl alone."""

import re

from tests.cluster.operator_lab import Lab, OperatorProcess, Receiver
from tests.cluster.replay_lab import failed, kube_event, replayed, until, until_answered

from checklist_crds.kube.kinds import EVENT
from checklist_dev.kubectl import Kubectl


def row(kubectl: Kubectl, lab: Lab, name: str, *options: str) -> dict[str, str]:
    """The line of `kubectl get`, by column."""
    text = kubectl("get", "cldel", name, "-n", lab.namespace, *options)
    head, line = text.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+( \S+)*", head)]
    bounds = zip(starts, [*starts[1:], None], strict=True)
    return {head[start:end].strip(): line[start:end].strip() for start, end in bounds}


async def test_kubectl_tells_the_story_of_a_delivery_that_failed_and_of_its_replay(
    lab: Lab, receiver: Receiver, operator: OperatorProcess, kubectl: Kubectl
) -> None:
    run, event_id = await failed(lab, receiver)
    shown = row(kubectl, lab, event_id, "-o", "wide")
    assert shown["EVENT"] == "run.cancelled"
    assert (shown["PHASE"], shown["ATTEMPTS"], shown["OUTCOME"], shown["HTTP"]) == ("Failed", "5", "http_5xx", "500")
    assert (shown["REASON"], shown["RUN"], shown["NEXT"], shown["REPLAYED"]) == ("AttemptsExhausted", run, "", "")
    event = await kube_event(lab, event_id, "DeliveryFailed")
    assert (event["type"], event["count"]) == ("Warning", 1)
    assert event["message"] == "run.cancelled (seq 1) to 127.0.0.1: All 5 attempts failed, the last one with HTTP 500."
    assert (await kube_event(lab, run, "DeliveryFailed"))["involvedObject"]["kind"] == "Run"
    assert "DeliveryFailed" in kubectl("describe", "clrun", run, "-n", lab.namespace)

    def annotate(text: str) -> None:
        kubectl("annotate", "cldel", event_id, "-n", lab.namespace, f"checklists.dev/replay={text}")

    for number in range(3):
        annotate(f"soon-{number}")
        assert replayed(await until_answered(lab, event_id)) == ("False", "InvalidTimestamp")
    refused = (await kube_event(lab, event_id, "ReplayRefused"))["metadata"]["name"]
    await lab.until(EVENT, refused, lambda one: one["count"] == 3)  # one Event that counts
    annotate("2026-11-21T12:00:00Z")
    body = await until_answered(lab, event_id)
    assert body["status"]["lastReplay"]["requestedBy"] == "kubectl-annotate"
    receiver.answer = lambda _: 200
    annotate("2026-11-21T12:00:01Z")
    await until(lab, event_id, lambda one: one["status"]["phase"] == "Delivered")
    await kube_event(lab, event_id, "Replayed")
    shown = row(kubectl, lab, event_id)
    assert (shown["PHASE"], shown["OUTCOME"], shown["HTTP"]) == ("Delivered", "success", "200")
    assert re.fullmatch(r"\d+[smh]", shown["REPLAYED"])
    story = re.sub(" +", " ", kubectl("describe", "cldel", event_id, "-n", lab.namespace))
    for words in (
        *("Outcome: http_5xx", "Manual: true", "Reason: Replayed", "Last Replay:", "DeliveryFailed"),
        *("The replay was answered with 200.", "The replay failed with HTTP 500.", event["message"].partition(": ")[2]),
    ):
        assert words in story, story
    assert "a secret of the caller" not in story
