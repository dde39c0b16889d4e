"""Where etcd, kube-apiserver and kubectl come from, tried with programs and servers made here: no network, no build."""

import hashlib
import io
import os
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    """A machine of our own: an environment with its PATH, cache and folders, and what was said meanwhile."""

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


def test_the_assets_of_kubebuilder_come_before_path(here: Machine) -> None:
    here.put("bin", apiserver="1.35.0", kubectl="1.35.0")
    assets = here.put("assets", apiserver="1.34.1", kubectl="1.34.1")
    here.env["KUBEBUILDER_ASSETS"] = str(assets)
    assert folders(here.find()) == {assets}


def test_programs_on_path_come_before_the_cache(here: Machine) -> None:
    here.put_cache()
    place = here.put("bin", apiserver="1.35.0", kubectl="1.35.0")
    assert folders(here.find()) == {place}


@pytest.mark.parametrize(("etcd", "apiserver"), [("3.6.8", "1.33.9"), ("3.4.23", "1.36.0")])
def test_programs_that_are_too_old_are_passed_over_and_it_is_said(here: Machine, etcd: str, apiserver: str) -> None:
    cache = here.put_cache()
    here.put("bin", etcd=etcd, apiserver=apiserver, kubectl=apiserver)
    assert folders(here.find()) == {cache}
    assert any("too old" in line for line in here.said)


@pytest.mark.parametrize("kubectl", ["1.32.4", ""])
def test_a_kubectl_that_does_not_fit_the_server_is_replaced_by_ours(here: Machine, kubectl: str) -> None:
    cache = here.put_cache()
    place = here.put("bin", apiserver="1.35.0", kubectl=kubectl)
    found = here.find()
    assert (found.kube_apiserver.parent, found.kubectl.parent) == (place, cache)


def test_a_kubectl_one_minor_away_is_good_enough(here: Machine) -> None:
    place = here.put("bin", apiserver=f"1.{OUR_MINOR}.0", kubectl=f"1.{OUR_MINOR - 1}.4")
    assert here.find().kubectl == place / "kubectl"


def test_a_filled_cache_needs_neither_network_nor_compiler(here: Machine) -> None:
    cache = here.put_cache()
    assert folders(here.find()) == {cache}
    assert here.said == []


def test_without_a_download_go_builds_once_and_the_second_clone_builds_nothing(here: Machine) -> None:
    here.put_go()
    first = here.find()
    assert first.kubectl.resolve().name == "controlplane"
    assert os.access(first.kube_apiserver, os.X_OK)
    assert here.find() == first
    assert here.built() == 1
    assert any("building" in line for line in here.said)


def test_two_clones_at_once_build_once_and_the_second_says_that_it_waits(here: Machine) -> None:
    here.put_go()
    here.env["FAKE_GO_SECONDS"] = "0.6"
    found: list[Binaries] = []
    threads = [threading.Thread(target=lambda: found.append(here.find())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    assert here.built() == 1
    assert any("waiting" in line for line in here.said)


def test_a_failed_build_is_one_line_and_leaves_nothing_behind(here: Machine) -> None:
    here.put_go()
    here.env["FAKE_GO_FAILS"] = "1"
    with pytest.raises(Failure, match="could not be built: compile: no space left on device"):
        here.find()
    assert [path.suffix for path in cache_folder(here.env).iterdir()] == [".lock"]


def test_what_a_killed_build_left_is_removed_by_the_next(here: Machine) -> None:
    here.put_go()
    final = here.find().etcd.parent
    final.rename(final.with_name(final.name + ".tmp-abandoned"))
    here.find()
    assert not list(final.parent.glob("*.tmp-*"))


# -- the official download -------------------------------------------------------------------------------------------


class Releases:
    """A server of releases: path to content; counts what is asked of it."""

    def __init__(self) -> None:
        system, architecture = machine()
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        release = f"/v{PINNED.kubernetes}/bin/{system}/{architecture}"
        for name in ("kube-apiserver", "kubectl"):
            content = f"#!/bin/sh\necho official {name}\n".encode()
            self.files[f"{release}/{name}"] = content
            self.files[f"{release}/{name}.sha256"] = hashlib.sha256(content).hexdigest().encode()
        self.kube_apiserver = f"{release}/kube-apiserver"
        archive = f"etcd-v{PINNED.etcd}-{system}-{architecture}"
        content = self._archive(archive)
        self.files[f"/v{PINNED.etcd}/{archive}.tar.gz"] = content
        sums = f"{'0' * 64}  other.tar.gz\n{hashlib.sha256(content).hexdigest()}  {archive}.tar.gz\n"
        self.files[f"/v{PINNED.etcd}/SHA256SUMS"] = sums.encode()

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


@pytest.fixture
def releases(here: Machine) -> Iterator[Releases]:
    served = Releases()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            content = served.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    here.env |= {"CHECKLISTS_KUBERNETES_DOWNLOADS": url, "CHECKLISTS_ETCD_DOWNLOADS": url}
    yield served
    server.shutdown()
    server.server_close()


def test_the_official_binaries_are_downloaded_checked_and_kept(here: Machine, releases: Releases) -> None:
    here.put_go()
    found = here.find()
    assert found.etcd.read_text().endswith("echo official etcd\n")
    assert found.kube_apiserver.read_text().endswith("echo official kube-apiserver\n")
    assert all(os.access(path, os.X_OK) for path in (found.etcd, found.kube_apiserver, found.kubectl))
    assert sorted(path.name for path in found.etcd.parent.iterdir()) == ["etcd", "kube-apiserver", "kubectl"]
    assert here.built() == 0

    releases.asked.clear()
    assert here.find() == found
    assert releases.asked == []


def test_a_download_that_is_not_what_was_published_is_refused(here: Machine, releases: Releases) -> None:
    here.put_go()
    releases.files[releases.kube_apiserver] += b"malware"
    with pytest.raises(Failure, match=r"kube-apiserver is not what was published: its SHA-256"):
        here.find()
    assert here.built() == 0, "a forged download must be noticed, not worked around"
    assert [path.suffix for path in cache_folder(here.env).iterdir()] == [".lock"]


def break_nothing_listens(here: Machine, releases: Releases) -> None:
    here.env["CHECKLISTS_KUBERNETES_DOWNLOADS"] = "http://127.0.0.1:1"


def break_no_such_release(here: Machine, releases: Releases) -> None:
    releases.files.clear()


def break_no_checksum(here: Machine, releases: Releases) -> None:
    releases.files[f"/v{PINNED.etcd}/SHA256SUMS"] = b"0000  something-else.tar.gz\n"


@pytest.mark.parametrize("breakage", [break_nothing_listens, break_no_such_release, break_no_checksum])
def test_without_an_official_release_it_is_built(
    here: Machine, releases: Releases, breakage: Callable[[Machine, Releases], None]
) -> None:
    here.put_go()
    breakage(here, releases)
    here.find()
    assert here.built() == 1
    assert any(line.startswith("no official binaries (") for line in here.said)
