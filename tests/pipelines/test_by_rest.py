"""The scripts of the examples for GitHub Actions and GitLab CI, as they are written, against the REST API."""

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.cluster.operator_lab import Lab
from tests.kubectl.plugin_lab import PROGRAMS, Done
from tests.pipelines.conftest import EXAMPLES, STEP, Person

pytestmark = pytest.mark.usefixtures("operator")
INSTALLS = 'python3 -m pip install "$CHECKLISTS_PACKAGE"'
"""Not executed: the command line is installed here already."""


class Runner:
    """Runs the scripts of a job, one after the other, in a folder of its own."""

    def __init__(self, rest: httpx.AsyncClient, lab: Lab, person: Person, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
            "CHECKLISTS_BASE_URL": str(rest.base_url).rstrip("/"),
            "CHECKLISTS_API_KEY": rest.headers["Authorization"].removeprefix("Bearer "),
            "NOTIFY_URL": person.chat.url,
            "TEMPLATE_ID": str(lab.template["metadata"]["name"]),
            "STEP_ID": STEP,
        }

    async def run(self, script: str, environment: Mapping[str, str]) -> Done:
        process = await asyncio.create_subprocess_exec(
            "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script,
            cwd=self.folder, env={**self.environment, **environment},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def runner(rest: httpx.AsyncClient, lab: Lab, person: Person, tmp_path: Path) -> Runner:
    return Runner(rest, lab, person, tmp_path)


# -- github-actions.yaml -----------------------------------------------------------------------------------------------


async def github_job(runner: Runner) -> tuple[Done, dict[str, str], str]:
    """Run the steps of the job until one fails; the last end, the job's outputs, and all that was printed."""
    job = yaml.safe_load((EXAMPLES / "github-actions.yaml").read_text())["jobs"]["human-step"]
    outputs: dict[str, dict[str, str]] = {}
    printed = ""
    done = Done(1, "", "no step was executed")
    for step in job["steps"]:
        if step["run"] == INSTALLS:
            continue
        file = runner.folder / f"output-{step.get('id', 'none')}"
        file.touch()
        github = {"GITHUB_OUTPUT": str(file), "GITHUB_REPOSITORY": "acme/kitchen", "GITHUB_JOB": "human-step"}
        github |= {"GITHUB_RUN_ID": "17", "GITHUB_RUN_ATTEMPT": "1"}
        given = {
            name: expanded(text, outputs)
            for name, text in step.get("env", {}).items()
            if "secrets." not in text and "vars." not in text
        }
        done = await runner.run(step["run"], github | given)
        printed += done.out + done.err
        if done.code != 0:
            break
        outputs[step.get("id", "")] = dict(line.split("=", 1) for line in file.read_text().splitlines())
    wanted = {name: expanded(text, outputs) for name, text in job["outputs"].items()} if done.code == 0 else {}
    return done, wanted, printed


def expanded(text: str, outputs: Mapping[str, Mapping[str, str]]) -> str:
    return re.sub(r"\$\{\{ steps\.([\w-]+)\.outputs\.([\w-]+) \}\}", lambda found: outputs[found[1]][found[2]], text)


async def test_the_github_job_returns_the_answer_and_masks_the_link(runner: Runner, lab: Lab, person: Person) -> None:
    (done, outputs, printed), run = await asyncio.gather(github_job(runner), person.answers(12))
    assert done.code == 0, printed
    assert outputs == {"answer": "12"}
    assert (await lab.run(run)).spec.executor_ref == "acme/kitchen 17"
    shown = [line for line in printed.splitlines() if "#" in line]
    assert len(shown) == 1 and shown[0].startswith("::add-mask::http")


async def test_the_github_job_fails_with_the_status_of_a_cancelled_run(runner: Runner, person: Person) -> None:
    (done, outputs, _), _ = await asyncio.gather(github_job(runner), person.cancels())
    assert (done.code, outputs) == (3, {})


# -- gitlab-ci.yaml ----------------------------------------------------------------------------------------------------


async def gitlab_job(runner: Runner) -> Done:
    """Run the job's script as GitLab does, as one program."""
    job: dict[str, Any] = yaml.safe_load((EXAMPLES / "gitlab-ci.yaml").read_text())["human-step"]
    tools, package = job["before_script"]
    assert tools.endswith("install -qy curl jq") and package == INSTALLS
    gitlab = {"CI_PROJECT_PATH": "acme/kitchen", "CI_PIPELINE_ID": "23", "CI_JOB_ID": "99"}
    return await runner.run("\n".join(job["script"]), gitlab)


async def test_the_gitlab_job_returns_the_answer_and_prints_no_link(runner: Runner, lab: Lab, person: Person) -> None:
    done, run = await asyncio.gather(gitlab_job(runner), person.answers(0.5))
    assert done.code == 0, done.err
    assert (runner.folder / "answer.env").read_text() == "ANSWER=0.5\n"
    assert not (runner.folder / "dispatched.json").exists()
    assert (await lab.run(run)).spec.executor_ref == "acme/kitchen 23"
    assert "#" not in done.out + done.err


async def test_the_gitlab_job_fails_with_the_status_of_a_cancelled_run(runner: Runner, person: Person) -> None:
    done, _ = await asyncio.gather(gitlab_job(runner), person.cancels())
    assert done.code == 3
    assert not (runner.folder / "answer.env").exists()


def test_the_python_of_the_tests_has_the_command_line() -> None:
    assert (Path(sys.executable).with_name("checklist-dispatch")).exists()
