"""The image: what its archive holds, and how it runs in a pod under restricted Pod Security."""

import json
import re
import tomllib
import uuid
from collections.abc import Callable, Iterator
from email.parser import HeaderParser
from functools import partial
from pathlib import Path, PurePosixPath
from tarfile import TarInfo
from typing import Any

import pytest
from tests.chart.node.cluster import Cluster
from tests.chart.node.conftest import Image, base_for
from tests.chart.node.release import phase, run_inside, waiting_pod

from checklist_dev.failures import say
from checklist_dev.release.image import runtime_lock
from checklist_dev.release.image.archive import PACKED_AT_MOST, UNPACKED_AT_MOST, Archive
from checklist_dev.release.image.build import BILL_IN_IMAGE, ImageOptions, build_image, source_of
from checklist_dev.release.image.engine import find_engine
from checklist_dev.release.image.slim import is_needed
from checklist_dev.repository import ROOT


@pytest.fixture(scope="module")
def files(contents: Archive) -> dict[str, TarInfo]:
    return contents.files()


@pytest.fixture(scope="module")
def bill(contents: Archive) -> dict[str, Any]:
    found = json.loads(contents.text(BILL_IN_IMAGE))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def installed(contents: Archive) -> dict[str, str]:
    """Name -> version of each distribution but our own, by its own metadata in the image."""
    found = {}
    for text in contents.texts(lambda path: path.endswith(".dist-info/METADATA")).values():
        fields = HeaderParser().parsestr(text)
        found[re.sub(r"[-_.]+", "-", fields["Name"]).lower()] = fields["Version"]
    del found["checklist-dispatch"]
    return found


def test_it_runs_as_a_user_that_is_not_root_and_starts_the_api_without_a_shell(contents: Archive) -> None:
    config = contents.config["config"]
    assert config["User"] == "65532:65532"
    assert config["Cmd"] == ["checklist-api"]
    assert "Entrypoint" not in config or not config["Entrypoint"]
    assert config["StopSignal"] == "SIGTERM"
    assert "PYTHONDONTWRITEBYTECODE=1" in config["Env"]


def test_its_labels_say_which_sources_it_is_of(contents: Archive) -> None:
    labels, source = contents.config["config"]["Labels"], source_of(ROOT)
    prefix = "org.opencontainers.image."
    assert labels[prefix + "title"] == "Checklist Dispatch"
    assert labels[prefix + "version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert labels[prefix + "revision"] == source.revision
    assert labels[prefix + "created"] == source.created
    assert labels[prefix + "base.name"]


def test_the_image_contains_no_registry_addresses(contents: Archive, files: dict[str, TarInfo]) -> None:
    config = json.dumps([contents.config["config"], contents.config.get("history", [])])
    assert "://" not in config
    assert not {"etc/pip.conf", "root/.npmrc", "run/secrets/certificates", "run/secrets"} & set(files)


def test_what_it_holds_runs_the_service_and_nothing_else(files: dict[str, TarInfo]) -> None:
    """No shell, no package manager, no compiler, no tests, no caches and no keys."""
    paths = [PurePosixPath(name) for name in files]
    programs = {path.name for path in paths if path.parent.name in ("bin", "sbin")}
    ours = {
        "checklist-api",
        "checklist-operator",
        "checklist-dispatch",
        "kubectl-checklists",
        "kubectl_complete-checklists",
    }
    assert ours <= programs
    assert programs - ours <= {"python", "python3", "python3.11", "python3.12", "python3.13", "python3.14"}
    forbidden = {"pip", "setuptools", "ensurepip", "sh", "bash", "busybox", "test", "tests", ".git", ".cache"}
    assert not [path for path in paths if path.name in forbidden | {"node_modules"}]
    assert not [path for path in paths if path.parts[:2] in (("var", "cache"), ("root", ".cache"), ("var", "log"))]
    keys = {path.name for path in paths if path.suffix in (".pem", ".key", ".p12", ".env")}
    assert keys <= {"cacert.pem", "cert.pem"}


def test_only_root_may_write_anything_but_tmp(files: dict[str, TarInfo]) -> None:
    assert not [name for name, file in files.items() if (file.uid, file.gid) != (0, 0)]
    writable = [name for name, file in files.items() if file.mode & 0o022 and not file.issym()]
    assert writable == ["tmp"]
    assert files["tmp"].mode & 0o7777 == 0o1777
    assert not [name for name, file in files.items() if file.mode & 0o6000], "setuid"


def test_the_web_app_and_bytecode_of_what_starts_are_in_it(files: dict[str, TarInfo]) -> None:
    names = "\n".join(files)
    for surface in ("executor", "dashboard"):
        assert re.search(rf"site-packages/checklist_api/web_dist/{surface}/index\.html$", names, re.MULTILINE)
    for module in ("checklist_api/__pycache__/app", "checklist_operator/__pycache__/term", "aiohttp/__pycache__/web"):
        assert re.search(rf"site-packages/{module}\.cpython-\d+\.pyc$", names, re.MULTILINE)


def test_the_sbom_lists_exactly_the_installed_packages(installed: dict[str, str], bill: dict[str, Any]) -> None:
    """(Debian keeps its licences apart from a package's paragraph.)"""
    listed = {each["name"]: each["version"] for each in bill["components"] if each["purl"].startswith("pkg:pypi/")}
    assert listed == installed
    packages = [each for each in bill["components"] if each["purl"].startswith(("pkg:pypi/", "pkg:npm/"))]
    assert len(packages) > 60
    assert [each["name"] for each in packages if not each.get("licenses")] == []


def test_what_is_installed_is_what_the_lock_file_says(installed: dict[str, str]) -> None:
    lock = runtime_lock.RUNTIME.read_text()
    wanted = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE))
    assert {name: wanted.get(name) for name in installed} == installed


def test_the_sbom_lists_system_and_npm_packages(files: dict[str, TarInfo], bill: dict[str, Any]) -> None:
    listed = {each["purl"].partition("@")[0] for each in bill["components"]}
    assert {"pkg:deb/debian/libc6", "pkg:deb/debian/libssl3", "pkg:generic/python"} <= listed
    assert {"pkg:npm/preact", "pkg:npm/idb-keyval"} <= listed
    assert "pkg:npm/vite" not in listed, "build tools are not in the pages"
    noted = {name.rpartition("/")[2] for name in files if name.startswith("var/lib/dpkg/status.d/")}
    assert {each["name"] for each in bill["components"] if each["purl"].startswith("pkg:deb/")} == noted


def test_the_bill_is_cyclonedx_whose_references_lead_somewhere(bill: dict[str, Any]) -> None:
    # Imported here: loading its JSON schemas takes three seconds.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    references = [each["bom-ref"] for each in bill["components"]] + [bill["metadata"]["component"]["bom-ref"]]
    assert len(references) == len(set(references))
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    assert {needed for each in bill["dependencies"] for needed in each["dependsOn"]} <= set(references)
    aiohttp = next(each for each in bill["dependencies"] if each["ref"].startswith("pkg:pypi/aiohttp@"))
    assert any(needed.startswith("pkg:pypi/yarl@") for needed in aiohttp["dependsOn"])


def test_the_image_is_small(contents: Archive, files: dict[str, TarInfo], installed: dict[str, str]) -> None:
    """Fonts of Chinese, Japanese and Korean are in a variant."""
    assert contents.packed <= PACKED_AT_MOST
    assert contents.unpacked() <= UNPACKED_AT_MOST
    inner = [name.partition("/site-packages/")[2] for name, file in files.items() if file.isfile()]
    assert len(inner) > 3000
    assert [name for name in inner if name and "/__pycache__/" not in name and not is_needed(PurePosixPath(name))] == []
    assert "manimgx-fonts" in installed and "manimgx-fonts-cjk" not in installed


def test_a_build_from_nothing_gives_the_same_layers(image: Image, contents: Archive, tmp_path: Path) -> None:
    """Bit by bit. (The digest of the image is not compared: its history names steps by ids that buildah may have of
    another commit.)"""
    engine = find_engine(ROOT / ".cache" / "image.log")
    assert engine is not None
    if engine.name == "docker":
        pytest.skip("docker keeps the time of each file: buildah and podman do not")
    name = f"{image.name}-again"
    build_image(engine, ImageOptions(name, base_for(engine), clean=True), say)
    archive = tmp_path / "again.tar"
    engine.save(name, archive, say)
    again = Archive.read(archive)
    before, after = contents.fingerprints(), again.fingerprints()
    different = sorted(path for path in before | after if before.get(path) != after.get(path))
    assert different == []
    assert [layer["digest"] for layer in again.layers] == [layer["digest"] for layer in contents.layers]


Inside = Callable[..., str]
EVERY_WRITABLE_PATH = """
import json, os
found = []
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys", "/dev")]
    for name in [".", *files]:
        path = os.path.normpath(os.path.join(folder, name))
        if not os.path.islink(path) and os.access(path, os.W_OK):
            found.append(path)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def inside(cluster: Cluster, loaded: Image) -> Iterator[Inside]:
    """Runs words in a pod of the image that does nothing, to look around there; what they print."""
    with cluster.namespace(f"test-{uuid.uuid4().hex[:10]}") as namespace:
        cluster.apply(waiting_pod("inside", namespace, loaded.name))
        cluster.wait_until(lambda: phase(cluster, namespace, "inside") == "Running", "the pod runs")
        yield partial(run_inside, cluster, namespace, "inside")


def test_it_is_not_root_and_has_no_capability(inside: Inside) -> None:
    script = "import json, os; print(json.dumps([os.getresuid(), os.getresgid(), open('/proc/self/status').read()]))"
    users, groups, status = json.loads(inside("python3", "-c", script))
    assert (users, groups) == ([65532] * 3, [65532] * 3)
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


def test_it_may_write_tmp_and_nothing_else(inside: Inside) -> None:
    writable = json.loads(inside("python3", "-c", EVERY_WRITABLE_PATH))
    assert "/tmp" in writable
    assert [path for path in writable if path != "/tmp" and not path.startswith("/tmp/")] == []


def test_the_authorities_that_sign_receivers_certificates_are_known(inside: Inside) -> None:
    script = "import json, ssl; print(json.dumps(ssl.create_default_context().cert_store_stats()))"
    assert json.loads(inside("python3", "-c", script))["x509_ca"] > 100
