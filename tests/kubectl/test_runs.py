"""`kubectl checklists dispatch`, `link`, `wait` and `answers`, with nothing but a kubeconfig."""

import asyncio
import json
import signal
import subprocess
from typing import Any

import pytest
from tests.cluster.operator_lab import BASE_URL, SERVER_KEY, Lab, OperatorProcess, Receiver
from tests.kubectl.plugin_lab import Shell
from tests.waiting import eventually

from checklist_crds.ids import is_id, object_id
from checklist_crds.resources.kinds import RUN, SECRET, TEMPLATE
from checklist_crds.secrets.sealing import ServerKeys, executor_link

pytestmark = pytest.mark.usefixtures("operator")


def link_to(lab: Lab, run: str) -> str:
    return executor_link(BASE_URL, ServerKeys(SERVER_KEY), object_id("org", lab.organization), run)


def template_of(lab: Lab) -> str:
    return str(lab.template["metadata"]["name"])


async def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = await asyncio.to_thread(process.communicate, timeout=240)
    return process.returncode, out, err


async def test_from_a_template_to_the_answers_with_five_commands_and_no_key(lab: Lab, shell: Shell) -> None:
    dispatched = await shell("dispatch", template_of(lab), "--ref", "shift 7", "--expires", "90m", "--link")
    assert dispatched.code == 0, dispatched.err
    run, link = dispatched.lines
    public_id = (await lab.run(run)).id
    assert run.startswith("run-") and is_id("r", public_id)
    assert link == link_to(lab, public_id)
    spec = (await lab.get(RUN, run))["spec"]
    assert spec == {
        "templateId": template_of(lab),
        "executorRef": "shift 7",
        "expiresInHours": 1.5,
        "linkSecretRef": {},
    }
    printed = await shell("link", f"run.checklists.dev/{run}")
    assert (printed.code, printed.lines, printed.err) == (0, [link], "")

    waiting = shell.start("wait", f"run/{run}", "-o", "json")
    assert waiting.stderr is not None
    assert await asyncio.to_thread(waiting.stderr.readline) == f"{run} is pending, 0 of 3 answered\n"
    await lab.answer(run, value=4.5)
    assert await asyncio.to_thread(waiting.stderr.readline) == f"{run} is in_progress, 1 of 3 answered\n"
    partial = await shell("answers", run)
    assert partial.code == 1 and partial.lines[0].split() == ["STEP", "ANSWER", "AT"]
    await lab.submit(run)
    code, out, _ = await finish(waiting)
    ended = json.loads(out)
    assert (code, ended["status"], ended["executor_ref"]) == (0, "completed", "shift 7")
    assert (ended["name"], ended["run_id"]) == (run, public_id)
    assert ended["answers"]["s-0"]["value"] == 4.5

    value = await shell("answers", run, "--step", "s-0")
    assert (value.code, value.out) == (0, "4.5\n")
    whole = await shell("answers", run, "-o", "json")
    assert whole.json() == ended["answers"]
    assert (await shell("answers", run, "--step", "s-2")).code == 2
    gone = await shell("link", run)
    assert (gone.code, gone.out) == (1, "") and "completed" in gone.err
    assert await eventually(lambda: lab.is_gone(SECRET, run))


async def test_names_come_from_the_template_or_from_the_caller(lab: Lab, shell: Shell) -> None:
    spec = lab.template_body("opening")
    await lab.client.create(TEMPLATE, spec, lab.namespace)
    done = [await shell("dispatch", "opening", "--link") for _ in range(2)]
    names = {each.lines[0] for each in done}
    assert len(names) == 2 and all(name.startswith("opening-") for name in names)
    named = await shell("dispatch", "opening", "--name", "daily", "--link-secret", "daily-link")
    assert named.lines[0] == "daily", named.err
    assert (await lab.get(RUN, "daily"))["spec"]["linkSecretRef"] == {"name": "daily-link"}
    taken = await shell("dispatch", "opening", "--name", "daily")
    assert taken.code == 2 and "daily" in taken.err
    tree = await shell("tree", "daily")
    assert tree.lines[0] == f"Run daily ({(await lab.run('daily')).id}): Pending, 0 of 3 answered"


@pytest.mark.parametrize(("end", "code"), [("cancelled", 3), ("expired", 4), ("open", 5)])
async def test_each_end_of_a_run_has_an_exit_status_of_its_own(lab: Lab, shell: Shell, end: str, code: int) -> None:
    run = await lab.dispatch(expires_in_s=1 if end == "expired" else None)
    if end == "cancelled":
        await lab.cancel(run)
    done = await shell("wait", run, *(["--timeout", "1s"] if end == "open" else []))
    assert (done.code, done.out) == (code, f"{run} {'pending' if end == 'open' else end}\n"), done.err


async def test_dispatch_waits_for_the_end_and_ctrl_c_leaves_the_run_open(
    lab: Lab, shell: Shell, default_sigint: None
) -> None:
    waiting = shell.start("dispatch", template_of(lab), "--wait", "-o", "json")
    assert waiting.stdout is not None and waiting.stderr is not None
    made: dict[str, Any] = json.loads(await asyncio.to_thread(waiting.stdout.readline))
    public_id = (await lab.run(made["name"])).id
    assert made == {"name": made["name"], "namespace": lab.namespace, "run_id": public_id}
    assert "pending" in await asyncio.to_thread(waiting.stderr.readline)
    waiting.send_signal(signal.SIGINT)
    code, out, err = await finish(waiting)
    assert (code, out) == (130, "")
    assert f"kubectl checklists wait {made['name']}" in err
    await lab.submit(made["name"])
    assert (await shell("wait", made["name"])).code == 0


async def test_a_run_that_is_deleted_ends_the_wait(lab: Lab, shell: Shell) -> None:
    run = await lab.dispatch()
    waiting = shell.start("wait", run)
    assert waiting.stderr is not None
    await asyncio.to_thread(waiting.stderr.readline)
    await lab.client.delete(RUN, run, lab.namespace)
    code, _, err = await finish(waiting)
    assert code == 2 and f"Run {run} was deleted" in err


async def test_a_refused_dispatch_says_why_and_names_the_run(lab: Lab, shell: Shell) -> None:
    refused = await shell("dispatch", "no-such-template")
    assert refused.code == 1
    assert "TemplateNotFound" in refused.err and f"kubectl delete run {refused.lines[0]}" in refused.err
    linkless = await shell("link", refused.lines[0])
    assert linkless.code == 1 and "spec.linkSecretRef" in linkless.err


async def test_a_link_that_the_operator_cannot_write_says_what_is_missing(lab: Lab, shell: Shell) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "taken"}, "data": {}}
    await lab.client.create(SECRET, body, lab.namespace)
    done = await shell("dispatch", template_of(lab), "--link", "--link-secret", "taken")
    assert done.code == 1 and "SecretNotOwned" in done.err
    assert await lab.run(done.out.strip())


async def test_a_webhook_is_signed_with_a_secret_of_the_cluster(lab: Lab, shell: Shell, receiver: Receiver) -> None:
    await lab.secret("hook", "a secret of this receiver")
    options = ["--webhook", receiver.url, "--webhook-secret", "hook:secret", "--events", "run.cancelled"]
    done = await shell("dispatch", template_of(lab), *options)
    assert done.code == 0, done.err
    run = done.out.strip()
    await lab.cancel(run)
    await lab.until_settled(run)
    assert [event["event"] for event in receiver.events((await lab.run(run)).id)] == ["run.cancelled"]


async def test_the_namespace_is_that_of_the_context_or_of_the_option(lab: Lab, shell: Shell) -> None:
    run = await lab.dispatch()
    elsewhere = await shell("answers", run, "--context", "elsewhere")
    assert elsewhere.code == 2 and "(namespace default)" in elsewhere.err
    there = await shell("answers", run, "--context", "elsewhere", "-n", lab.namespace)
    assert there.code == 1
    unknown = await shell("answers", run, "--context", "no-such-context")
    assert unknown.code == 2 and "no-such-context" in unknown.err and "Traceback" not in unknown.err


async def test_what_makes_no_sense_is_refused_before_anything_is_created(
    lab: Lab, shell: Shell, operator: OperatorProcess
) -> None:
    for arguments, why in (
        (["--timeout", "1h"], "--timeout needs --wait"),
        (["--webhook", "https://hooks.example.com/"], "--webhook-secret"),
        (["--events", "*"], "need --webhook"),
        (["--expires", "4"], "duration"),
        (["--webhook-secret", "hook:"], "NAME:KEY"),
    ):
        done = await shell("dispatch", template_of(lab), *arguments)
        assert done.code == 2 and why in done.err, done
    assert (await lab.client.list_all(RUN, lab.namespace))[0] == []
