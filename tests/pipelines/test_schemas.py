"""The examples are what the four projects allow: by the types of Argo Workflows and Tekton, and by the published
schemas of GitHub Actions and GitLab CI."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.pipelines.conftest import EXAMPLES
from tests.pipelines.judging import problem, verdict

from checklist_dev.repository import ROOT

SCHEMAS = {"github-actions.yaml": "vendor.github-workflows", "gitlab-ci.yaml": "vendor.gitlab-ci"}
GUIDE = (ROOT / "docs" / "pipelines.md").read_text()


def example(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text())
    return loaded


def checked(schema: str, file: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("check-jsonschema")
    transform = ["--data-transform", "gitlab-ci"] if "gitlab" in schema else []
    command = [program, "--builtin-schema", schema, *transform, str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["argo.yaml", "tekton.yaml"])
def test_argo_and_tekton_take_the_objects_and_refuse_a_mistake(name: str) -> None:
    body = example(name)
    assert problem(body) == ""
    part = body["spec"]["templates"][1]["resource"] if name == "argo.yaml" else body["spec"]["steps"][0]
    part["typo"] = "x"
    assert "typo" in problem(body)


def test_the_argo_steps_give_each_template_what_it_needs() -> None:
    templates = {template["name"]: template for template in example("argo.yaml")["spec"]["templates"]}
    needed = {
        name: {one["name"] for one in template["inputs"]["parameters"] if "value" not in one}
        for name, template in templates.items()
    }
    steps = [step for group in templates["human-step"]["steps"] for step in group]
    given = {step["template"]: {one["name"] for one in step["arguments"]["parameters"]} for step in steps}
    assert given == {name: needed[name] for name in ("dispatch", "send-link", "wait")}
    for name, template in templates.items():
        used = set(re.findall(r"\{\{inputs\.parameters\.([\w-]+)\}\}", json.dumps(template)))
        assert used == {one["name"] for one in template["inputs"]["parameters"]}, name
    made = {one["name"] for one in templates["dispatch"]["outputs"]["parameters"]}
    taken = set(re.findall(r"\{\{steps\.dispatch\.outputs\.parameters\.([\w-]+)\}\}", json.dumps(steps)))
    assert taken == made


def test_tekton_refuses_what_its_webhook_refuses() -> None:
    body = example("tekton.yaml")
    body["spec"]["steps"][0]["script"] += "\necho $(params.no-such-param)\n"
    assert "no-such-param" in problem(body)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_schemas_of_github_and_gitlab_allow_the_files_and_refuse_a_mistake(name: str, tmp_path: Path) -> None:
    done = checked(SCHEMAS[name], EXAMPLES / name)
    assert done.returncode == 0, done.stdout + done.stderr
    body = example(name)
    job = body["jobs"]["human-step"] if "jobs" in body else body["human-step"]
    job["steps" if "jobs" in body else "script"] = 7
    wrong = tmp_path / name
    wrong.write_text(yaml.safe_dump(body))
    assert checked(SCHEMAS[name], wrong).returncode == 1


def test_conditions_are_read_as_argo_reads_them() -> None:
    conditions = {"success": "status.phase == Completed", "failure": "status.phase in (Cancelled, Expired)"}
    phases = {"Pending": "waiting", "InProgress": "waiting", "Completed": "succeeded", "Cancelled": "failed"}
    for phase, wanted in phases.items():
        assert verdict({"status": {"phase": phase}}, **conditions) == wanted
    assert verdict({}, **conditions) == "waiting"


def test_every_example_is_in_the_guide() -> None:
    for file in EXAMPLES.iterdir():
        assert f"(../examples/pipelines/{file.name})" in GUIDE


def test_the_guide_names_the_versions_that_judge() -> None:
    modules = (Path(__file__).parent / "judges" / "go.mod").read_text()
    for name, module in (("Argo Workflows", "argoproj/argo-workflows/v3"), ("Tekton", "tektoncd/pipeline")):
        (version,) = re.findall(rf"{module} v(\d+\.\d+)", modules)
        assert f"| {name} {version} |" in GUIDE
