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

from checklist_dev.failures import Failure
from checklist_dev.programs.binaries import Binaries, find_binaries, pinned_versions
from checklist_dev.system.cache import cache_folder, machine

PINNED = pinned_versions()

GO = """#!/bin/sh
# Stands for the go command: knows its version, and "builds" what -o names.
if [ "$1" = version ]; then echo "go version go1.26.8 linux/amd64"; exit; fi
if [ "$1" = list ]; then echo fmt; echo os; exit; fi
echo build >> "$FAKE_GO_LOG"
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
        for tool in ("sh", "chmod"):
            (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))
        (folder / "bin" / "go").write_text(GO)
        (folder / "bin" / "go").chmod(0o755)
        self.env = {
            "PATH": str(folder / "bin"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "FAKE_GO_LOG": str(self.builds),
            "CHECKLISTS_KUBERNETES_DOWNLOADS": "off",
        }

    def find(self) -> Binaries:
        return find_binaries(self.env, report=self.said.append)

    def built(self) -> int:
        return len(self.builds.read_text().splitlines()) if self.builds.exists() else 0

    def cached(self) -> list[str]:
        return sorted(path.suffix for path in cache_folder(self.env).iterdir())


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def releases(here: Machine, tmp_path: Path) -> Iterator[Path]:
    """A folder of releases, as their servers have it."""
    folder, (system, architecture) = tmp_path / "releases", machine()
    archive = f"etcd-v{PINNED.etcd}-{system}-{architecture}"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in ("README.md", "etcd"):
            member = tarfile.TarInfo(f"{archive}/{name}")
            member.size = 8
            tar.addfile(member, io.BytesIO(b"official"))
    of_kubernetes = folder / f"v{PINNED.kubernetes}/bin/{system}/{architecture}"
    of_etcd = folder / f"v{PINNED.etcd}"
    for place in (of_kubernetes, of_etcd):
        place.mkdir(parents=True)
    for name in ("kube-apiserver", "kubectl"):
        (of_kubernetes / name).write_bytes(b"official")
        (of_kubernetes / f"{name}.sha256").write_text(hashlib.sha256(b"official").hexdigest())
    (of_etcd / f"{archive}.tar.gz").write_bytes(buffer.getvalue())
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    (of_etcd / "SHA256SUMS").write_text(f"{'0' * 64}  other.tar.gz\n{digest}  {archive}.tar.gz\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    here.env |= {"CHECKLISTS_KUBERNETES_DOWNLOADS": url, "CHECKLISTS_ETCD_DOWNLOADS": url}
    yield folder
    server.shutdown()
    server.server_close()


def test_the_official_binaries_are_downloaded_checked_and_kept(here: Machine, releases: Path) -> None:
    found = here.find()
    for path in (found.etcd, found.kube_apiserver, found.kubectl):
        assert (path.read_text(), os.access(path, os.X_OK)) == ("official", True)
    shutil.rmtree(releases)
    assert here.find() == found
    assert here.built() == 0


def test_a_download_that_is_not_what_was_published_is_refused(here: Machine, releases: Path) -> None:
    (forged,) = releases.rglob("kube-apiserver")
    forged.write_text("malware")
    with pytest.raises(Failure, match=r"kube-apiserver does not match its published SHA-256"):
        here.find()
    assert here.built() == 0, "a forged download must be noticed, not worked around"
    assert here.cached() == [".lock"]


def test_concurrent_callers_build_once_without_a_release(here: Machine, releases: Path) -> None:
    (releases / f"v{PINNED.etcd}" / "SHA256SUMS").write_text("0000  something-else.tar.gz\n")
    for name, version in (("etcd", "etcd Version: 3.4.23"), ("kube-apiserver", "Kubernetes v1.36.0")):
        (here.folder / "bin" / name).write_text(f"#!/bin/sh\necho '{version}'\n")  # on PATH, and too old
        (here.folder / "bin" / name).chmod(0o755)
    found: list[Binaries] = []
    threads = [threading.Thread(target=lambda: found.append(here.find())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == here.find()
    assert here.built() == 1
    assert any("too old" in line for line in here.said)
    assert any(line.startswith("no official binaries (") for line in here.said)
