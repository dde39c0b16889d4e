"""Where etcd, kube-apiserver and kubectl come from, tried with programs and servers made here: no network, no build."""

import hashlib
import io
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from checklist_dev.binaries import Binaries, cache_folder, find_binaries, machine, pinned_versions
from checklist_dev.failures import Failure

PINNED = pinned_versions()
OUR_MINOR = int(PINNED.kubernetes.split(".")[1])

GO = """#!/bin/sh
# Stands for the go command: knows its version, and "builds" what -o names.
if [ "$1" = version ]; then echo "go version go1.26.8 linux/amd64"; exit; fi
if [ "$1" = list ]; then echo fmt; echo os; exit; fi
echo build >> "$FAKE_GO_LOG"
sleep "${FAKE_GO_SECONDS:-0}"
[ -z "${FAKE_GO_FAILS:-}" ] || { echo "compile: no space left on device" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\n' > "$2"
chmod +x "$2"
"""


class Machine:
    """An environment with its PATH, cache and folders, and what was said meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.builds = folder / "builds"
        (folder / "bin").mkdir()
        for tool in ("sh", "sleep", "chmod"):
            (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))
        self.env = {
            "PATH": str(folder / "bin"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "FAKE_GO_LOG": str(self.builds),
            "CHECKLISTS_KUBERNETES_DOWNLOADS": "off",
        }

    def put(self, folder: str, *, etcd: str = "3.6.8", apiserver: str = "", kubectl: str = "") -> Path:
        """Programs that know only their version; an empty one is not put there."""
        place = self.folder / folder
        place.mkdir(exist_ok=True)
        if apiserver:
            self._program(place / "etcd", f'echo "etcd Version: {etcd}"')
            self._program(place / "kube-apiserver", f'echo "Kubernetes v{apiserver}"')
        if kubectl:
            version = '{"clientVersion": {"gitVersion": "v' + kubectl + '"}}'
            self._program(place / "kubectl", f"echo '{version}'")
        return place

    def put_go(self) -> None:
        (self.folder / "bin" / "go").write_text(GO)
        (self.folder / "bin" / "go").chmod(0o755)

    def put_cache(self) -> Path:
        """A filled cache; its folder."""
        system, architecture = machine()
        name = f"controlplane-{PINNED.kubernetes}-etcd-{PINNED.etcd}-{system}-{architecture}"
        place = cache_folder(self.env) / name
        place.parent.mkdir(parents=True)
        made = self.put("made", apiserver=PINNED.kubernetes, kubectl=PINNED.kubernetes)
        made.rename(place)
        return place

    def find(self) -> Binaries:
        return find_binaries(self.env, report=self.said.append)

    def built(self) -> int:
        return len(self.builds.read_text().splitlines()) if self.builds.exists() else 0

    @staticmethod
    def _program(path: Path, line: str) -> None:
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def folders(found: Binaries) -> set[Path]:
    return {found.etcd.parent, found.kube_apiserver.parent, found.kubectl.parent}


def test_assets_of_kubebuilder_come_before_path_and_path_before_the_cache(here: Machine) -> None:
    here.put_cache()
    place = here.put("bin", apiserver="1.35.0", kubectl="1.35.0")
    assert folders(here.find()) == {place}
    assets = here.put("assets", apiserver="1.34.1", kubectl="1.34.1")
    here.env["KUBEBUILDER_ASSETS"] = str(assets)
    assert folders(here.find()) == {assets}


@pytest.mark.parametrize(
    ("etcd", "apiserver", "kubectl", "taken"),
    [
        ("3.6.8", "1.33.9", "1.33.9", set()),
        ("3.4.23", "1.36.0", "1.36.0", set()),
        ("3.6.8", "1.35.0", "1.32.4", {"etcd", "kube-apiserver"}),
        ("3.6.8", "1.35.0", "", {"etcd", "kube-apiserver"}),
        ("3.6.8", f"1.{OUR_MINOR}.0", f"1.{OUR_MINOR - 1}.4", {"etcd", "kube-apiserver", "kubectl"}),
    ],
)
def test_programs_that_are_too_old_or_do_not_fit_are_passed_over_for_the_cache(
    here: Machine, etcd: str, apiserver: str, kubectl: str, taken: set[str]
) -> None:
    cache = here.put_cache()
    assert folders(here.find()) == {cache}
    assert here.said == []
    place = here.put("bin", etcd=etcd, apiserver=apiserver, kubectl=kubectl)
    found = here.find()
    assert {path.name for path in (found.etcd, found.kube_apiserver, found.kubectl) if path.parent == place} == taken
    assert any("too old" in line for line in here.said) is not bool(taken)


def test_two_clones_at_once_build_once_without_a_download_and_the_second_says_that_it_waits(here: Machine) -> None:
    here.put_go()
    here.env["FAKE_GO_SECONDS"] = "0.6"
    found: list[Binaries] = []
    threads = [threading.Thread(target=lambda: found.append(here.find())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == here.find()
    assert here.built() == 1
    assert found[0].kubectl.resolve().name == "controlplane"
    assert os.access(found[0].kube_apiserver, os.X_OK)
    assert any("building" in line for line in here.said)
    assert any("waiting" in line for line in here.said)
    final = found[0].etcd.parent
    final.rename(final.with_name(final.name + ".tmp-abandoned"))  # as a killed build leaves it
    here.find()
    assert not list(final.parent.glob("*.tmp-*"))


def test_a_failed_build_is_one_line_and_leaves_nothing_behind(here: Machine) -> None:
    here.put_go()
    here.env["FAKE_GO_FAILS"] = "1"
    with pytest.raises(Failure, match="could not be built: compile: no space left on device"):
        here.find()
    assert [path.suffix for path in cache_folder(here.env).iterdir()] == [".lock"]


# -- the official download -------------------------------------------------------------------------------------------


class Releases:
    """A folder of releases, as their servers have it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        system, architecture = machine()
        release = f"v{PINNED.kubernetes}/bin/{system}/{architecture}"
        for name in ("kube-apiserver", "kubectl"):
            content = f"#!/bin/sh\necho official {name}\n".encode()
            self.put(f"{release}/{name}", content)
            self.put(f"{release}/{name}.sha256", hashlib.sha256(content).hexdigest().encode())
        self.kube_apiserver = folder / release / "kube-apiserver"
        archive = f"etcd-v{PINNED.etcd}-{system}-{architecture}"
        content = self._archive(archive)
        self.put(f"v{PINNED.etcd}/{archive}.tar.gz", content)
        sums = f"{'0' * 64}  other.tar.gz\n{hashlib.sha256(content).hexdigest()}  {archive}.tar.gz\n"
        self.put(f"v{PINNED.etcd}/SHA256SUMS", sums.encode())

    def put(self, path: str, content: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(content)

    @staticmethod
    def _archive(folder: str) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name in ("README.md", "etcd", "etcdctl"):
                content = f"#!/bin/sh\necho official {name}\n".encode()
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return buffer.getvalue()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def releases(here: Machine, tmp_path: Path) -> Iterator[Releases]:
    made = Releases(tmp_path / "releases")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(made.folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    here.env |= {"CHECKLISTS_KUBERNETES_DOWNLOADS": url, "CHECKLISTS_ETCD_DOWNLOADS": url}
    yield made
    server.shutdown()
    server.server_close()


def test_the_official_binaries_are_downloaded_checked_and_kept(here: Machine, releases: Releases) -> None:
    here.put_go()
    found = here.find()
    assert found.etcd.read_text().endswith("echo official etcd\n")
    assert found.kube_apiserver.read_text().endswith("echo official kube-apiserver\n")
    assert all(os.access(path, os.X_OK) for path in (found.etcd, found.kube_apiserver, found.kubectl))
    assert sorted(path.name for path in found.etcd.parent.iterdir()) == ["etcd", "kube-apiserver", "kubectl"]
    shutil.rmtree(releases.folder)
    assert here.find() == found
    assert here.built() == 0


def test_a_download_that_is_not_what_was_published_is_refused(here: Machine, releases: Releases) -> None:
    here.put_go()
    releases.kube_apiserver.write_text("malware")
    with pytest.raises(Failure, match=r"kube-apiserver is not what was published: its SHA-256"):
        here.find()
    assert here.built() == 0, "a forged download must be noticed, not worked around"
    assert [path.suffix for path in cache_folder(here.env).iterdir()] == [".lock"]


@pytest.mark.parametrize("breakage", ["nothing listens", "no such release", "no checksum"])
def test_without_an_official_release_it_is_built(here: Machine, releases: Releases, breakage: str) -> None:
    here.put_go()
    if breakage == "nothing listens":
        here.env["CHECKLISTS_KUBERNETES_DOWNLOADS"] = "http://127.0.0.1:1"
    elif breakage == "no such release":
        shutil.rmtree(releases.folder)
    else:
        releases.put(f"v{PINNED.etcd}/SHA256SUMS", b"0000  something-else.tar.gz\n")
    here.find()
    assert here.built() == 1
    assert any(line.startswith("no official binaries (") for line in here.said)
