"""Builds a base image from Debian packages with mmdebstrap, for machines without access to an image registry.

Like the official Python image it contains Python, pip, and libstdc++, which some wheels need. Kept in the user's cache.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure
from checklist_dev.release.image.engine import Build, Engine
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import one_at_a_time
from checklist_dev.system.progress import Report, last_word, run_with_progress

SUITE: Final = "bookworm"
PACKAGES: Final = ("ca-certificates", "libstdc++6", "python3", "python3-pip", "python3-venv")
REPOSITORY: Final = "localhost/checklist-dispatch-base"
_OPTIONS: Final = ("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*")
_CONTAINERFILE: Final = """\
FROM scratch
ADD rootfs.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""


def debian_rootfs(cache: Path, report: Report, packages: Sequence[str] = PACKAGES) -> Path:
    """The root file system with `packages`, as .tar. Raises Failure if mmdebstrap fails or cannot be installed."""
    key = hashlib.sha256(repr((SUITE, tuple(packages), _OPTIONS)).encode()).hexdigest()[:12]
    rootfs = cache / f"base-{SUITE}-{key}.tar"
    if rootfs.exists():
        return rootfs
    script = [*("sh", "hack/system_package.sh", "mmdebstrap"), "it makes the base of the image", "mmdebstrap"]
    if subprocess.run(script, cwd=ROOT, check=False).returncode != 0:
        raise Failure("a local base needs mmdebstrap: name another base with --base")
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(rootfs.with_suffix(".lock"), "making the base of the image", report):
        if not rootfs.exists():
            report("making the base of the image from Debian's packages (about half a minute)")
            made = rootfs.with_name(f"{rootfs.stem}.tmp-{os.getpid()}.tar")
            words = [
                "mmdebstrap",
                "--variant=essential",
                f"--include={','.join(packages)}",
                *_OPTIONS,
                SUITE,
                str(made),
            ]
            code, lines = run_with_progress(words, ROOT, os.environ, "lines", report)
            if code != 0:
                made.unlink(missing_ok=True)
                raise Failure(f"mmdebstrap: {last_word(code, lines)}")
            made.rename(rootfs)
    return rootfs


def image_of(rootfs: Path, engine: Engine, report: Report) -> str:
    """The name of an image with this root file system. Raises Failure."""
    if not rootfs.is_file():
        raise Failure(f"{rootfs} is missing")
    tag = f"{REPOSITORY}:{rootfs.stem.lower()}-{rootfs.stat().st_mtime_ns:x}"
    if engine.has(tag):
        return tag
    # In the same folder, to allow a hard link: engines do not follow symbolic links out of the context.
    with tempfile.TemporaryDirectory(prefix=".base-", dir=rootfs.parent) as folder:
        context = Path(folder)
        (context / "rootfs.tar").hardlink_to(rootfs)
        (context / "Containerfile").write_text(_CONTAINERFILE)
        engine.build(Build(context / "Containerfile", context, tag), f"no base could be made of {rootfs}", report)
    return tag
