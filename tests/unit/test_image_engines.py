"""What docker, podman and buildah are told, by programs in their place that write down their arguments."""

import json
from pathlib import Path

import pytest

from checklist_dev.failures import Failure
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
    """A folder of them, the only one on PATH beside the system's own."""

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


def a_build(programs: Programs, *, clean: bool = False) -> Build:
    secret = programs.folder / "pip.conf"
    secret.write_text("")
    return Build(
        ROOT / "Containerfile", ROOT, "localhost/x:1", {"WEB": "given", "VERSION": "1"}, {"pip": secret}, clean
    )


COMMON = ["--build-arg", "WEB=given", "--build-arg", "VERSION=1", "--secret", "id=pip,src={secret}"]
COMMON += ["--tag", "localhost/x:1", "--file", str(ROOT / "Containerfile"), str(ROOT)]


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("docker", ["build", "--load"]),
        ("podman", ["build", "--format", "oci", "--timestamp", "0"]),
        ("buildah", ["build", "--layers", "--isolation", "chroot", "--format", "oci", "--timestamp", "0"]),
    ],
)
def test_an_engine_is_told_the_same_build_in_its_own_words(programs: Programs, name: str, verb: list[str]) -> None:
    one = a_build(programs)
    engine(programs, name).build(one, "it could not be built", lambda _: None)
    common = [word.format(secret=one.secrets["pip"]) for word in COMMON]
    assert programs.told("build") == [[*verb, *common]]
    engine(programs, name).build(a_build(programs, clean=True), "it could not be built", lambda _: None)
    assert programs.told("build")[1] == [*verb, "--no-cache", *common]


def test_a_docker_without_buildx_is_told_nothing_that_it_does_not_know(programs: Programs) -> None:
    programs.put("docker", refused="buildx")
    found = find_engine(programs.folder / "engine.log", "docker")
    assert found is not None
    found.build(a_build(programs), "it could not be built", lambda _: None)
    assert programs.told("build")[0][:2] == ["build", "--build-arg"]
    # Secrets of a build are BuildKit's.
    assert json.loads(programs.log.read_text().splitlines()[-1])["buildkit"] == "1"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("docker", ["save", "--output", "{output}", "localhost/x:1"]),
        ("podman", ["save", "--format=oci-archive", "--output", "{output}", "localhost/x:1"]),
        ("buildah", ["push", "--quiet", "localhost/x:1", "oci-archive:{output}:localhost/x:1"]),
    ],
)
def test_an_engine_saves_an_archive_in_its_own_words(programs: Programs, name: str, words: list[str]) -> None:
    output = programs.folder / "image.tar"
    engine(programs, name).save("localhost/x:1", output, lambda _: None)
    assert programs.told(words[0]) == [[word.format(output=output) for word in words]]


def test_a_docker_without_its_daemon_is_none_and_the_next_one_is_taken(programs: Programs) -> None:
    found = find_engine(programs.folder / "engine.log")
    assert found is not None and found.name == "podman"
    assert find_engine(programs.folder / "engine.log", "docker") is None
    programs.put("docker")
    again = find_engine(programs.folder / "engine.log")
    assert again is not None and again.name == "docker"


def test_a_build_that_is_refused_says_why_in_one_line(programs: Programs) -> None:
    programs.put("podman", refused="build")
    found = find_engine(programs.folder / "engine.log", "podman")
    assert found is not None
    with pytest.raises(Failure, match=r"the image could not be built: Error: it refused \(see "):
        found.build(a_build(programs), "the image could not be built", lambda _: None)


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_make_image_passes_the_sources_labels_and_keeps_addresses_out_of_the_arguments(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What `make image` does with each, but for building the web app."""
    monkeypatch.setattr(image_build.Workspace, "ensure_built", lambda _: None)
    monkeypatch.setattr(image_build, "_pip_options", lambda: {"index-url": "https://user:secret@packages.example"})
    build_image(engine(programs, name), Wish("localhost/x:1"), lambda _: None)
    (words,) = programs.told("build")
    arguments = dict(words[number + 1].split("=", 1) for number, word in enumerate(words) if word == "--build-arg")
    source = source_of(ROOT)
    assert arguments == {
        "WEB": "given",
        "NODE_BASE": image_build.default_base(),
        "VERSION": source.version,
        "REVISION": source.revision,
        "CREATED": source.created,
        "SOURCE_DATE_EPOCH": str(source.epoch),
    }
    assert "packages.example" not in " ".join(words)
    assert any(word.startswith("id=pip,src=") for word in words)


def test_the_bases_are_pinned_by_digest() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    bases = [line for line in lines if line.startswith("ARG ") and "_BASE=" in line]
    assert len(bases) == 2
    assert all("@sha256:" in line and len(line.rpartition("@sha256:")[2]) == 64 for line in bases)
    assert [line for line in lines if line.startswith("FROM ") and "${" not in line] == [
        "FROM packages AS service",
        "FROM scratch",
    ]
