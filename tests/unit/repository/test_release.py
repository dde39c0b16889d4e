"""The release: its files, the image and the definitions."""

import json
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

from checklist_crds.crd import __main__ as command
from checklist_crds.crd.definition import CRD_VERSION, CRD_VERSION_ANNOTATION, crd_of, render
from checklist_crds.crd.resource_descriptions import RESOURCES
from checklist_dev.generate.chart_files import CHART
from checklist_dev.release.audit import of_npm, of_python, python_names
from checklist_dev.release.image import build as image_build
from checklist_dev.release.image.build import ImageOptions, build_image, source_of
from checklist_dev.release.image.engine import find_engine
from checklist_dev.repository import ROOT


def test_package_and_chart_have_the_version_and_licence_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    package = metadata("checklist-dispatch")
    assert package["Version"] == chart["version"] == chart["appVersion"] == project["version"]
    assert package["License-Expression"] == project["license"] == "Apache-2.0"


def test_the_changelog_describes_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text("utf-8")


LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:11
redis[hiredis]==8.1.0 ; extra == 'redis' \\
    --hash=sha256:22
"""


def _report(*dependencies: dict[str, object]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


def test_a_weakness_is_reported_with_the_version_that_fixes_it() -> None:
    found = {"id": "GHSA-1", "fix_versions": ["3.14.6"], "aliases": [], "description": ""}
    weak = {"name": "aiohttp", "version": "3.14.5", "vulns": [found]}
    well: dict[str, object] = {"name": "redis", "version": "8.1.0", "vulns": []}
    verdict = of_python(_report(weak, well), python_names(LOCK), "")
    assert (verdict.weak, verdict.packages, verdict.not_asked) == (("aiohttp 3.14.5: GHSA-1, fixed in 3.14.6",), 2, 0)
    of_esbuild = {"vulnerabilities": {"esbuild": {"severity": "high", "range": "<1"}}, "metadata": {}}
    assert of_npm(json.dumps(of_esbuild), 9).weak == ("esbuild <1: high",)
    assert of_npm(json.dumps({"vulnerabilities": {}, "metadata": {}}), 9).not_asked == 0


def test_a_package_without_an_answer_counts_as_not_asked() -> None:
    verdict = of_python(_report({"name": "aiohttp", "skip_reason": "not found"}), python_names(LOCK), "")
    assert (verdict.weak, verdict.not_asked, verdict.why) == ((), 2, "not found")
    assert of_python("", ["a", "b"], "no route").not_asked == 2
    assert of_python('{"dependencies": 7}', ["a"], "").not_asked == 1
    assert of_npm("", 3).not_asked == 3
    refused = of_npm(json.dumps({"message": "405 Method Not Allowed", "statusCode": 405}), 3)
    assert (refused.not_asked, refused.why) == (3, "405 Method Not Allowed")


STAND_IN = """#!/usr/bin/env python3
import json, sys
with open({log!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_image_arguments_have_labels_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(image_build.Workspace, "ensure_built", lambda _: None)
    monkeypatch.setattr(image_build, "_pip_options", lambda: {"index-url": "https://user:secret@packages.example"})
    (tmp_path / name).write_text(STAND_IN.format(log=str(tmp_path / "log")))
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    engine = find_engine(tmp_path / "engine.log", name)
    assert engine is not None
    build_image(engine, ImageOptions("localhost/x:1", cjk=True), lambda _: None)
    calls = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (words,) = [call for call in calls if call[0] == "build"]
    arguments = dict(words[number + 1].split("=", 1) for number, word in enumerate(words) if word == "--build-arg")
    source = source_of(ROOT)
    assert arguments == {
        **{"WEB": "given", "CJK": "1", "NODE_BASE": image_build.default_base(), "VERSION": source.version},
        **{"REVISION": source.revision, "CREATED": source.created, "SOURCE_DATE_EPOCH": str(source.epoch)},
    }
    assert "packages.example" not in " ".join(words)
    assert any(word.startswith("id=pip,src=") for word in words)


def test_the_bases_are_pinned_by_digest() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    bases = [line for line in lines if line.startswith("ARG ") and "_BASE=" in line]
    assert len(bases) == 2
    assert all("@sha256:" in line and len(line.rpartition("@sha256:")[2]) == 64 for line in bases)
    without_variables = [line for line in lines if line.startswith("FROM ") and "${" not in line]
    assert without_variables == ["FROM packages AS service", "FROM scratch"]


_COMMITTED = Path(command.__file__).resolve().parents[2]


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["crd", *arguments])
    return command.main()


def test_the_files_are_written_from_the_models_and_a_stale_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ("--output", str(tmp_path))
    assert _run(monkeypatch, *output) == 0
    written = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    assert written == {name: (_COMMITTED / name).read_text("utf-8") for name in written}
    assert set(written) == {f"{resource.kind.plural}.yaml" for resource in RESOURCES}
    capsys.readouterr()
    (tmp_path / "runs.yaml").unlink()
    (tmp_path / "templates.yaml").write_text(written["templates.yaml"] + "\n")
    assert _run(monkeypatch, *output, "--check") == 1
    assert not (tmp_path / "runs.yaml").exists(), "a check writes nothing"
    assert capsys.readouterr().err == "not current: templates.yaml, runs.yaml; run `make crds`\n"


def test_every_definition_bears_its_version_and_rules_stand_where_they_hold() -> None:
    definitions = {resource.kind.kind: crd_of(resource) for resource in RESOURCES}
    versions = {each["metadata"]["annotations"][CRD_VERSION_ANNOTATION] for each in definitions.values()}
    assert versions == {str(CRD_VERSION)}
    run = definitions["Run"]["spec"]["versions"][0]
    assert yaml.safe_load(render(RESOURCES[0])) == crd_of(RESOURCES[0])
    spec = run["schema"]["openAPIV3Schema"]["properties"]["spec"]
    rules = [rule["rule"] for rule in spec["properties"]["templateRef"].get("x-kubernetes-validations", ())]
    rules += [rule["rule"] for rule in spec.get("x-kubernetes-validations", ())]
    assert any("oldSelf" in rule for rule in rules), "a run's spec cannot be changed afterwards"
