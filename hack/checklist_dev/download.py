"""The official release binaries of Kubernetes and etcd, checked against the checksums published with them.

`CHECKLISTS_KUBERNETES_DOWNLOADS` and `CHECKLISTS_ETCD_DOWNLOADS` name a mirror, or say `off`.
"""

import hashlib
import os
import tarfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from checklist_dev.failures import Failure

KUBERNETES = "https://dl.k8s.io"
ETCD = "https://github.com/etcd-io/etcd/releases/download"
CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 30.0
# A machine without network may hang in name resolution, which no timeout of a socket covers.
FIRST_ANSWER_S = 8.0
PROGRESS_EVERY_S = 5.0

Report = Callable[[str], None]


class Unavailable(Exception):
    """The download cannot be had here; the caller builds instead. A wrong checksum is a Failure, never this."""


def download_binaries(
    folder: Path,
    kubernetes: str,
    etcd: str,
    system: str,
    architecture: str,
    *,
    env: Mapping[str, str] = os.environ,
    report: Report,
) -> None:
    """Put etcd, kube-apiserver and kubectl into `folder`.

    Raises Unavailable when a server does not answer or has no such file, Failure when what it gave is not what it
    published the checksum of.
    """
    kubernetes_base = env.get("CHECKLISTS_KUBERNETES_DOWNLOADS") or KUBERNETES
    etcd_base = env.get("CHECKLISTS_ETCD_DOWNLOADS") or ETCD
    if "off" in (kubernetes_base, etcd_base):
        raise Unavailable("downloads are off")
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    with httpx.Client(timeout=timeout, follow_redirects=True) as client:
        release = f"{kubernetes_base.rstrip('/')}/v{kubernetes}/bin/{system}/{architecture}"
        archive = f"etcd-v{etcd}-{system}-{architecture}.tar.gz"
        etcd_release = f"{etcd_base.rstrip('/')}/v{etcd}"
        # All checksums first: a server that does not answer is noticed before anything large is fetched.
        sums = {name: _text(client, f"{release}/{name}.sha256").split()[0] for name in ("kube-apiserver", "kubectl")}
        sums[archive] = _sum_in_list(_text(client, f"{etcd_release}/SHA256SUMS"), archive)

        for name in ("kube-apiserver", "kubectl"):
            _download(client, f"{release}/{name}", folder / name, sums[name], report)
            (folder / name).chmod(0o755)
        _download(client, f"{etcd_release}/{archive}", folder / archive, sums[archive], report)
    _take_etcd(folder / archive, folder / "etcd")


def _text(client: httpx.Client, url: str) -> str:
    """A small file, within FIRST_ANSWER_S seconds whatever happens below."""
    answers: list[httpx.Response] = []
    errors: list[Exception] = []

    def get() -> None:
        try:
            answers.append(client.get(url))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            errors.append(error)

    thread = threading.Thread(target=get, daemon=True)
    thread.start()
    thread.join(FIRST_ANSWER_S)
    if errors:
        raise Unavailable(f"{httpx.URL(url).host}: {errors[0] or type(errors[0]).__name__}")
    if not answers:
        raise Unavailable(f"{httpx.URL(url).host} did not answer within {FIRST_ANSWER_S:.0f} s")
    if answers[0].status_code != httpx.codes.OK or not answers[0].text.strip():
        raise Unavailable(f"{url} answered {answers[0].status_code}")
    return answers[0].text


def _sum_in_list(text: str, name: str) -> str:
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].lstrip("*") == name:
            return words[0]
    raise Unavailable(f"no checksum of {name} is published")


def _download(client: httpx.Client, url: str, path: Path, sha256: str, report: Report) -> None:
    report(f"downloading {url}")
    digest = hashlib.sha256()
    done, told = 0, time.monotonic()
    try:
        with client.stream("GET", url) as response, path.open("wb") as file:
            if response.status_code != httpx.codes.OK:
                raise Unavailable(f"{url} answered {response.status_code}")
            total = int(response.headers.get("Content-Length", 0))
            for chunk in response.iter_bytes(1 << 20):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if time.monotonic() - told > PROGRESS_EVERY_S:
                    told = time.monotonic()
                    report(f"  {done >> 20} MB" + (f" of {total >> 20} MB" if total else ""))
    except httpx.HTTPError as error:
        raise Unavailable(f"{url}: {error or type(error).__name__}") from error
    if digest.hexdigest() != sha256.lower():
        raise Failure(f"{url} is not what was published: its SHA-256 is {digest.hexdigest()}, not {sha256}")


def _take_etcd(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and Path(member.name).name == "etcd":
                content = tar.extractfile(member)
                if content is not None:
                    target.write_bytes(content.read())
                    target.chmod(0o755)
                    break
        else:
            raise Failure(f"{archive.name} contains no etcd")
    archive.unlink()
