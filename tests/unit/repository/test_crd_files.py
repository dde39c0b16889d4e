"""`make crds` and its check: the CustomResourceDefinitions are written from the models, and a stale one is named."""

import sys
from pathlib import Path

import pytest
import yaml

from checklist_crds.crd import __main__ as command
from checklist_crds.crd.definition import CRD_VERSION, CRD_VERSION_ANNOTATION, crd_of, render
from checklist_crds.crd.kinds import RESOURCES

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
