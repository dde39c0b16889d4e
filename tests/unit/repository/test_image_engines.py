"""Arguments of docker, podman and buildah, as programs in their place write them down."""

import json
from pathlib import Path

import pytest

from checklist_dev.image import build as image_build
from checklist_dev.image.build import Wish, build_image, source_of
from checklist_dev.image.engine import find_engine
from checklist_dev.repository import ROOT

STAND_IN = """#!/usr/bin/env python3
import json, sys
with open({log!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_make_image_passes_the_sources_labels_and_keeps_addresses_out_of_the_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(image_build.Workspace, "ensure_built", lambda _: None)
    monkeypatch.setattr(image_build, "_pip_options", lambda: {"index-url": "https://user:secret@packages.example"})
    (tmp_path / name).write_text(STAND_IN.format(log=str(tmp_path / "log")))
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    engine = find_engine(tmp_path / "engine.log", name)
    assert engine is not None
    build_image(engine, Wish("localhost/x:1", cjk=True), lambda _: None)
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
