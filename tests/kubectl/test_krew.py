"""The krew manifest and archive of a release: by krew's own validator, and by a start of the launcher."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from checklist_dev.failures import Failure
from checklist_dev.programs.go_tools import KREW_VALIDATOR, find_tool
from checklist_dev.release.krew import archive, archive_name, manifest, version_of

HOMEPAGE = "https://github.com/acme/checklist-dispatch"
DOWNLOADS = f"{HOMEPAGE}/releases/download/v0.1.0"
PROGRAMS = ("kubectl-checklists", "kubectl_complete-checklists")


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A small wheel with the programs' names, which print how they were called."""
    path = tmp_path / "checklist_dispatch-0.1.0-py3-none-any.whl"
    points = "\n".join(f"{name} = called:main" for name in PROGRAMS)
    about = "checklist_dispatch-0.1.0.dist-info"
    code = (
        "import sys, pathlib\n\ndef main():\n    print(pathlib.Path(sys.argv[0]).name, *sys.argv[1:])\n    return 3\n"
    )
    files = {
        "called.py": code,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: checklist-dispatch\nVersion: 0.1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{points}\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def filled(wheel: Path) -> str:
    return manifest(version_of(wheel), archive(wheel), homepage=HOMEPAGE, downloads=DOWNLOADS)


def test_the_manifest_names_the_archive_and_its_digest(wheel: Path) -> None:
    text = filled(wheel)
    assert "{" not in text.replace("{key: os", "")
    spec = yaml.safe_load(text)["spec"]
    (platform,) = spec["platforms"]
    assert (spec["version"], spec["homepage"]) == ("v0.1.0", HOMEPAGE)
    assert platform["uri"] == f"{DOWNLOADS}/{archive_name('0.1.0')}"
    assert platform["sha256"] == hashlib.sha256(archive(wheel)).hexdigest()
    assert len(spec["shortDescription"]) <= 60
    with tarfile.open(fileobj=io.BytesIO(archive(wheel))) as tar:
        names = tar.getnames()
    assert sorted(names) == sorted(["LICENSE", platform["bin"], "requirements.lock", "version", wheel.name])


def test_a_wrong_wheel_or_address_is_refused(wheel: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="not a wheel"):
        archive(tmp_path / "other-0.1.0-py3-none-any.whl")
    with pytest.raises(Failure, match="https://"):
        manifest("0.1.0", b"", homepage="http://example.com", downloads=DOWNLOADS)


@pytest.mark.verify
def test_krews_own_validator_takes_the_manifest_and_refuses_a_mistake(wheel: Path, tmp_path: Path) -> None:
    file = tmp_path / "checklists.yaml"

    def validated(text: str) -> subprocess.CompletedProcess[str]:
        file.write_text(text)
        command = [find_tool(KREW_VALIDATOR), "-manifest", str(file), "-skip-install"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    done = validated(filled(wheel))
    assert done.returncode == 0 and "structural validation OK" in done.stderr, done.stderr
    for right, wrong in (
        ("v0.1.0", "0.1.0"),
        ("bin: ", "bun: "),
        ("[linux, darwin]", "[plan9]"),
        ("checklists\n", "x\n"),
    ):
        assert validated(filled(wheel).replace(right, wrong)).returncode != 0, wrong


@pytest.mark.verify
def test_the_launcher_installs_once_and_then_only_starts(wheel: Path, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("")
    store, links = tmp_path / "store", tmp_path / "bin"
    links.mkdir()
    with tarfile.open(fileobj=io.BytesIO(archive(wheel, lock))) as tar:
        tar.extractall(store, filter="data")
    for name in PROGRAMS:
        (links / name).symlink_to(store / "kubectl-checklists")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHON": sys.executable}

    def started(name: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(links / name), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env={**environment, **more}
        )

    refused = started(PROGRAMS[0], PYTHON="no-such-python")
    assert refused.returncode == 2 and "Python 3.11" in refused.stderr
    first = started(PROGRAMS[0], "wait", "two words")
    assert (first.returncode, first.stdout) == (3, "kubectl-checklists wait two words\n"), first.stderr
    assert "installing version 0.1.0" in first.stderr
    again = started(PROGRAMS[1], "wa", PYTHON="no-such-python")
    assert (again.returncode, again.stdout, again.stderr) == (3, "kubectl_complete-checklists wa\n", "")
