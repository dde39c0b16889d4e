"""The pieces of examples/pipelines for the cluster, as they are written, on a real API server with their own rights."""

import asyncio
import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.operator_lab import Lab
from tests.kubectl.plugin_lab import Done, Shell
from tests.pipelines.conftest import EXAMPLES, STEP, Person
from tests.pipelines.judging import verdict

from checklist_crds.resources.kinds import RUN

pytestmark = pytest.mark.usefixtures("operator")


def settings(lab: Lab, person: Person, **more: str) -> dict[str, str]:
    template = str(lab.template["metadata"]["name"])
    return {"TEMPLATE": template, "STEP": STEP, "NOTIFY_URL": person.chat.url, "REFERENCE": "build 7", **more}


# -- human-step.sh -----------------------------------------------------------------------------------------------------


async def shell_step(pipeline: Shell, lab: Lab, person: Person, **more: str) -> Done:
    return await pipeline.run(["sh", str(EXAMPLES / "human-step.sh")], **settings(lab, person, **more))


async def test_the_shell_script_prints_the_answer(pipeline: Shell, lab: Lab, person: Person) -> None:
    done, run = await asyncio.gather(shell_step(pipeline, lab, person), person.answers(4.5))
    assert (done.code, done.out) == (0, "4.5"), done.err
    spec = (await lab.get(RUN, run))["spec"]
    assert (spec["executorRef"], spec["expiresInHours"]) == ("build 7", 4)
    assert person.chat.received[0].body.decode().rpartition("#")[2][:16] not in done.err + done.out


async def test_the_shell_script_has_an_exit_status_for_each_end(pipeline: Shell, lab: Lab, person: Person) -> None:
    done, _ = await asyncio.gather(shell_step(pipeline, lab, person), person.cancels())
    assert (done.code, done.out) == (3, ""), done.err
    person.chat.received.clear()
    expired = await shell_step(pipeline, lab, person, EXPIRES_HOURS="0.001")
    assert (expired.code, expired.out) == (4, ""), expired.err
    person.chat.received.clear()
    late = await shell_step(pipeline, lab, person, TIMEOUT="1s")
    assert (late.code, late.out) == (5, ""), late.err


async def test_the_pipeline_may_do_no_more_than_it_needs(pipeline: Shell) -> None:
    for verb, resource, allowed in (
        ("create", "runs.checklists.dev", "yes"),
        ("watch", "runs.checklists.dev", "yes"),
        ("get", "secrets", "yes"),
        ("list", "secrets", "no"),
        ("delete", "runs.checklists.dev", "no"),
        ("patch", "runs.checklists.dev/status", "no"),
        ("get", "templates.checklists.dev", "no"),
    ):
        asked = await pipeline.run([str(pipeline.kubectl), "auth", "can-i", verb, resource])
        assert asked.out.strip() == allowed, (verb, resource, asked)


# -- tekton.yaml -------------------------------------------------------------------------------------------------------


def filled(text: str, values: Mapping[str, str]) -> str:
    """What Tekton makes of its variables; other `$(...)` belong to the shell."""
    for name, value in values.items():
        text = text.replace(f"$({name})", value)
    assert not re.search(r"\$\((?:params|results|workspaces|context)\.", text), text
    return text


async def tekton_step(pipeline: Shell, lab: Lab, person: Person, folder: Path) -> tuple[Done, dict[str, str]]:
    """Run the step's script as written; its end and the results that it wrote."""
    task = yaml.safe_load((EXAMPLES / "tekton.yaml").read_text())
    (step,) = task["spec"]["steps"]
    given = {"template": str(lab.template["metadata"]["name"]), "step": STEP, "expires-hours": "4"}
    values = {f"params.{name}": value for name, value in given.items()}
    values |= {"params.reference": "task run 7", "workspaces.notify.path": str(folder)}
    values |= {f"results.{result['name']}.path": str(folder / result["name"]) for result in task["spec"]["results"]}
    (folder / "url").write_text(person.chat.url)
    script = folder / "script"
    script.write_text(filled(step["script"], values))
    environment = {one["name"]: filled(one["value"], values) for one in step["env"]}
    done = await pipeline.run(["sh", str(script)], **environment)
    names = [result["name"] for result in task["spec"]["results"]]
    return done, {name: (folder / name).read_text() for name in names if (folder / name).exists()}


async def test_the_tekton_step_returns_the_answer(pipeline: Shell, lab: Lab, person: Person, tmp_path: Path) -> None:
    (done, results), run = await asyncio.gather(tekton_step(pipeline, lab, person, tmp_path), person.answers(-3))
    assert done.code == 0, done.err
    assert results == {"run": run, "answer": "-3"}
    assert (await lab.get(RUN, run))["spec"]["executorRef"] == "task run 7"


async def test_the_tekton_step_fails_when_the_run_is_cancelled(
    pipeline: Shell, lab: Lab, person: Person, tmp_path: Path
) -> None:
    (done, results), run = await asyncio.gather(tekton_step(pipeline, lab, person, tmp_path), person.cancels())
    assert done.code == 1 and f"the run {run} is Cancelled" in done.err
    assert results == {"run": run}


# -- argo.yaml ---------------------------------------------------------------------------------------------------------


class Workflow:
    """One workflow of argo.yaml: each template as the controller fills it in and the executor runs it."""

    def __init__(self, pipeline: Shell, lab: Lab, run: str = "") -> None:
        spec = yaml.safe_load((EXAMPLES / "argo.yaml").read_text())["spec"]
        self._pipeline = pipeline
        self._lab = lab
        self._run = run
        self._given = {template["name"]: template for template in spec["templates"]}
        self._values = {"pod.name": f"workflow-7-dispatch-{uuid.uuid4().hex[:10]}"}
        self._values |= {"inputs.parameters.reference": "workflow 7", "inputs.parameters.expires-hours": "4"}
        self._values |= {"inputs.parameters.template": str(lab.template["metadata"]["name"])}
        self._values |= {"inputs.parameters.step": STEP, "inputs.parameters.run": run}

    @property
    def templates(self) -> dict[str, Any]:
        return {name: self._filled(template) for name, template in self._given.items()}

    def _filled(self, part: Any) -> Any:
        text = json.dumps(part)
        for name, value in self._values.items():
            text = text.replace(f"{{{{{name}}}}}", value)
        return json.loads(text)

    async def act(self, template: str) -> Done:
        """What the executor does at first: kubectl with the action and the manifest."""
        resource = self.templates[template]["resource"]
        command = [str(self._pipeline.kubectl), resource["action"], "-f", "-", "-o", "json"]
        return await self._pipeline.run(command, stdin=resource["manifest"])

    async def dispatch(self) -> str:
        """Create the run, wait until the executor sees it succeed, and hand its outputs to the other steps."""
        created = await self.act("dispatch")
        assert created.code == 0, created.err
        self._run = json.loads(created.out)["metadata"]["name"]
        await self._lab.until_condition(RUN, self._run, "LinkReady", status="True")
        assert await self.judged("dispatch") == "succeeded"
        self._values["steps.dispatch.outputs.parameters.run"] = await self.output("dispatch", "run")
        for step in (step for group in self._given["human-step"]["steps"] for step in group):
            if step["name"] != "dispatch":
                given = {one["name"]: self._filled(one["value"]) for one in step["arguments"]["parameters"]}
                self._values |= {f"inputs.parameters.{name}": value for name, value in given.items()}
        return self._run

    async def judged(self, template: str) -> str:
        """What the executor makes of the conditions now."""
        resource = self.templates[template]["resource"]
        body = await self._lab.get(RUN, self._run)
        return verdict(body, success=resource["successCondition"], failure=resource["failureCondition"])

    async def output(self, template: str = "wait", name: str = "answer") -> str:
        """An output parameter, which the executor reads with kubectl."""
        outputs = {one["name"]: one["valueFrom"] for one in self.templates[template]["outputs"]["parameters"]}
        path = outputs[name]["jsonPath"]
        command = [str(self._pipeline.kubectl), "get", f"run/{self._run}", "-o", f"jsonpath={path}"]
        return (await self._pipeline.run(command)).out


async def test_the_argo_templates_dispatch_send_wait_and_return_the_answer(
    pipeline: Shell, lab: Lab, person: Person
) -> None:
    workflow = Workflow(pipeline, lab)
    run = await workflow.dispatch()
    assert run.startswith("human-step-")

    script = workflow.templates["send-link"]["script"]
    secret = {one["name"]: one["valueFrom"]["secretKeyRef"] for one in script["env"]}["LINK"]
    get = [str(pipeline.kubectl), "get", "secret", secret["name"], "-o", f"jsonpath={{.data.{secret['key']}}}"]
    decoded = await pipeline.run(["base64", "-d"], stdin=(await pipeline.run(get)).out)
    environment = {"LINK": decoded.out, "NOTIFY_URL": person.chat.url}
    sent = await pipeline.run(script["command"], stdin=script["source"], **environment)
    assert sent.code == 0, sent.err
    assert await person.got_link() == run

    assert (await workflow.act("wait")).code == 0
    assert await workflow.judged("wait") == "waiting"
    await lab.answer(run, value=7)
    assert await workflow.judged("wait") == "waiting"
    await lab.submit(run)
    assert await workflow.judged("wait") == "succeeded"
    assert await workflow.output() == "7"


@pytest.mark.parametrize("end", ["cancelled", "expired"])
async def test_the_argo_step_fails_when_the_run_ends_otherwise(
    pipeline: Shell, lab: Lab, end: str, person: Person
) -> None:
    run = await lab.dispatch(expires_in_s=1 if end == "expired" else None)
    workflow = Workflow(pipeline, lab, run)
    if end == "cancelled":
        await lab.cancel(run)
    await lab.until_condition(RUN, run, "Ended", status="True")
    assert await workflow.judged("wait") == "failed"
    assert await workflow.output() == ""


async def test_a_run_that_is_not_admitted_lets_the_argo_step_wait_for_its_deadline(pipeline: Shell, lab: Lab) -> None:
    run = await lab.apply_run(templateRef={"name": "no-such-template"}, linkSecretRef={"name": "opening"})
    await lab.until_condition(RUN, run, "Admitted", status="False")
    workflow = Workflow(pipeline, lab, run)
    assert await workflow.judged("dispatch") == "waiting"
    assert workflow.templates["dispatch"]["activeDeadlineSeconds"] == 300
