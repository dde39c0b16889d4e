"""Downloads the official release binaries of Kubernetes and etcd, and verifies them with the published checksums.

`CHECKLISTS_KUBERNETES_DOWNLOADS` and `CHECKLISTS_ETCD_DOWNLOADS` set a mirror, or `off`. Uses only the standard
library, since it runs while the packages of the environment are being installed.
"""

import hashlib
import http.client
import os
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from checklist_dev.failures import Failure

KUBERNETES = "https://dl.k8s.io"
ETCD = "https://github.com/etcd-io/etcd/releases/download"
READ_TIMEOUT_S = 30.0
# Without a network, name resolution may hang, which no socket timeout covers.
FIRST_ANSWER_S = 8.0
PROGRESS_EVERY_S = 5.0

Report = Callable[[str], None]


class Unavailable(Exception):
    """The download is not available; the caller builds instead. A wrong checksum is a Failure."""


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
    """Download etcd, kube-apiserver and kubectl into `folder`.

    Raises Unavailable if a server does not answer or lacks the file, Failure if a checksum does not match.
    """
    kubernetes_base = env.get("CHECKLISTS_KUBERNETES_DOWNLOADS") or KUBERNETES
    etcd_base = env.get("CHECKLISTS_ETCD_DOWNLOADS") or ETCD
    if "off" in (kubernetes_base, etcd_base):
        raise Unavailable("downloads are off")
    release = f"{kubernetes_base.rstrip('/')}/v{kubernetes}/bin/{system}/{architecture}"
    archive = f"etcd-v{etcd}-{system}-{architecture}.tar.gz"
    etcd_release = f"{etcd_base.rstrip('/')}/v{etcd}"
    # All checksums first, so that an unreachable server is noticed before large downloads.
    sums = {name: _text(f"{release}/{name}.sha256").split()[0] for name in ("kube-apiserver", "kubectl")}
    sums[archive] = _sum_in_list(_text(f"{etcd_release}/SHA256SUMS"), archive)

    for name in ("kube-apiserver", "kubectl"):
        _download(f"{release}/{name}", folder / name, sums[name], report)
        (folder / name).chmod(0o755)
    _download(f"{etcd_release}/{archive}", folder / archive, sums[archive], report)
    _take_etcd(folder / archive, folder / "etcd")


def _open(url: str, timeout_s: float) -> http.client.HTTPResponse:
    """The response to GET, after redirects. Raises Unavailable if there is none, or it is not 200."""
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        error.close()
        raise Unavailable(f"{url} answered {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Unavailable(f"{urllib.parse.urlsplit(url).hostname}: {reason or type(error).__name__}") from error
    if response.status != http.client.OK:
        response.close()
        raise Unavailable(f"{url} answered {response.status}")
    return response


def _text(url: str) -> str:
    """The content of a small file, or Unavailable after FIRST_ANSWER_S seconds."""
    answers: list[str] = []
    errors: list[Unavailable] = []

    def get() -> None:
        try:
            with _open(url, FIRST_ANSWER_S) as response:
                answers.append(response.read().decode())
        except Unavailable as error:
            errors.append(error)
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            errors.append(Unavailable(f"{url}: {error or type(error).__name__}"))

    thread = threading.Thread(target=get, daemon=True)
    thread.start()
    thread.join(FIRST_ANSWER_S)
    if errors:
        raise errors[0]
    if not answers:
        host = urllib.parse.urlsplit(url).hostname
        raise Unavailable(f"{host} did not answer within {FIRST_ANSWER_S:.0f} s")
    if not answers[0].strip():
        raise Unavailable(f"{url} is empty")
    return answers[0]


def _sum_in_list(text: str, name: str) -> str:
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].lstrip("*") == name:
            return words[0]
    raise Unavailable(f"no checksum of {name} is published")


def _download(url: str, path: Path, sha256: str, report: Report) -> None:
    report(f"downloading {url}")
    digest = hashlib.sha256()
    done, reported = 0, time.monotonic()
    try:
        with _open(url, READ_TIMEOUT_S) as response, path.open("wb") as file:
            total = int(response.headers.get("Content-Length", 0))
            while chunk := response.read(1 << 20):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if time.monotonic() - reported > PROGRESS_EVERY_S:
                    reported = time.monotonic()
                    report(f"  {done >> 20} MB" + (f" of {total >> 20} MB" if total else ""))
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{url}: {error or type(error).__name__}") from error
    if done < total:
        raise Unavailable(f"{url} ended after {done} of {total} bytes")
    if digest.hexdigest() != sha256.lower():
        raise Failure(f"{url} does not match its published SHA-256: it is {digest.hexdigest()}, not {sha256}")


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
