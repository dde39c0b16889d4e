"""Arguments of docker, podman and buildah, as programs in their place write them down."""

import json
from pathlib import Path

import pytest

from checklist_dev.image import build as image_build
from checklist_dev.image.build import Wish, build_image, source_of
from checklist_dev.image.engine import Build, Engine, find_engine
from checklist_dev.repository import ROOT

STAND_IN = """#!/usr/bin/env python3
import json, os, sys
with open({log!r}, "a") as file:
    file.write(json.dumps({{"argv": sys.argv[1:], "buildkit": os.environ.get("DOCKER_BUILDKIT")}}) + "\\n")
if {refused!r} and sys.argv[1:2] == [{refused!r}]:
    print("Error: it refused", file=sys.stderr)
    sys.exit(3)
"""


class Programs:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.log = folder / "log"
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.delenv("BUILDAH_ISOLATION", raising=False)
        # The system's own, so that none of them is found by accident.
        for name in ("docker", "podman", "buildah"):
            self.put(name, refused="info")

    def put(self, name: str, *, refused: str = "") -> None:
        file = self.folder / name
        file.write_text(STAND_IN.format(log=str(self.log), refused=refused))
        file.chmod(0o755)

    def told(self, verb: str) -> list[list[str]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line["argv"] for line in lines if line["argv"][0] == verb]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path, monkeypatch)


def engine(programs: Programs, name: str) -> Engine:
    programs.put(name)
    found = find_engine(programs.folder / "engine.log", name)
    assert found is not None
    return found


def test_a_docker_without_buildx_is_told_nothing_that_it_does_not_know(programs: Programs) -> None:
    programs.put("docker", refused="buildx")
    found = find_engine(programs.folder / "engine.log", "docker")
    assert found is not None
    build = Build(ROOT / "Containerfile", ROOT, "localhost/x:1", {"WEB": "given"}, {"pip": programs.log})
    found.build(build, "it could not be built", lambda _: None)
    assert programs.told("build")[0][:2] == ["build", "--build-arg"]
    assert json.loads(programs.log.read_text().splitlines()[-1])["buildkit"] == "1"


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_make_image_passes_the_sources_labels_and_keeps_addresses_out_of_the_arguments(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(image_build.Workspace, "ensure_built", lambda _: None)
    monkeypatch.setattr(image_build, "_pip_options", lambda: {"index-url": "https://user:secret@packages.example"})
    build_image(engine(programs, name), Wish("localhost/x:1", cjk=True), lambda _: None)
    (words,) = programs.told("build")
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
