"""Builds the image of this clone: the web app first, then what the Containerfile says, by whichever engine is here."""

import configparser
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checklist_dev.release.image import runtime_lock
from checklist_dev.release.image.engine import Build, Engine
from checklist_dev.release.image.local_base import debian_rootfs, image_of
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder
from checklist_dev.system.progress import Report
from checklist_dev.web.build import Workspace

CONTAINERFILE: Final = ROOT / "Containerfile"
LOCAL: Final = "local"
"""Of Debian's packages, where no registry of images can be reached."""
BILL_IN_IMAGE: Final = "usr/share/sbom/checklist-dispatch.cdx.json"
# What of pip's configuration is of use inside the build; paths of this machine are none.
_PIP_OPTIONS: Final = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")


@dataclass(frozen=True, slots=True)
class Wish:
    """`base`: an image's name, a root file system as .tar, LOCAL, or empty for the Containerfile's own default."""

    tag: str
    base: str = ""
    web: str = "given"
    """`given`: the web app as `make web` builds it; `build`: built in the Containerfile's own stage, with Node."""
    clean: bool = False
    """Nothing of an earlier build is used."""
    cjk: bool = False
    """With the fonts of Chinese, Japanese and Korean."""


@dataclass(frozen=True, slots=True)
class Source:
    """What the labels say of the sources."""

    version: str
    revision: str
    epoch: int

    @property
    def created(self) -> str:
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def source_of(root: Path) -> Source:
    """From pyproject.toml and git; a folder without git has no revision, and is of the epoch's first second."""
    version = str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])
    form = ["git", "-C", str(root), "log", "-1", "--format=%H %ct"]
    try:
        words = subprocess.run(form, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        words = ["unknown", "0"]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or words[1])
    return Source(version, words[0], epoch)


def build_image(engine: Engine, wish: Wish, report: Report) -> None:
    """The image is there under `wish.tag` afterwards. Raises Failure with one line."""
    runtime_lock.check()
    arguments = {"WEB": wish.web, "CJK": str(int(wish.cjk))}
    if wish.web == "given":
        Workspace(ROOT, cache=cache_folder(), report=report).ensure_built()
    with tempfile.TemporaryDirectory(prefix="checklist-image-") as folder:
        base = wish.base
        if base == LOCAL:
            base = str(debian_rootfs(cache_folder(), report))
        if base.endswith(".tar"):
            base = image_of(Path(base), engine, report)
        if base:
            arguments["PYTHON_BASE"] = base
            if wish.web == "given":
                arguments["NODE_BASE"] = base
        elif wish.web == "given":
            arguments["NODE_BASE"] = default_base()
        source = source_of(ROOT)
        arguments |= {
            "VERSION": source.version,
            "REVISION": source.revision,
            "CREATED": source.created,
            "SOURCE_DATE_EPOCH": str(source.epoch),
        }
        secrets = dict(_secrets(os.environ, Path(folder)))
        report(f"building {wish.tag} with {engine.name}")
        build = Build(CONTAINERFILE, ROOT, wish.tag, arguments, secrets, wish.clean)
        engine.build(build, "the image could not be built", report)


def default_base() -> str:
    """What the Containerfile says when it is not told otherwise."""
    line = next(line for line in CONTAINERFILE.read_text().splitlines() if line.startswith("ARG PYTHON_BASE="))
    return line.partition("=")[2]


def _secrets(env: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path]]:
    """How this machine reaches its registries: seen by the commands of the build alone, in no layer."""
    options = _pip_options()
    if certificates := env.get("PIP_CERT") or env.get("SSL_CERT_FILE"):
        yield "certificates", Path(certificates)
        options["cert"] = "/run/secrets/certificates"
    if options:
        parser = configparser.RawConfigParser()
        parser["global"] = options
        with (folder / "pip.conf").open("w") as file:
            parser.write(file)
        yield "pip", folder / "pip.conf"
    npmrc = Path(env.get("NPM_CONFIG_USERCONFIG") or Path.home() / ".npmrc")
    if npmrc.is_file():
        yield "npmrc", npmrc


def _pip_options() -> dict[str, str]:
    """pip's own answer, whether it was told by a file or by the environment."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    options = {}
    for line in answer.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in _PIP_OPTIONS:
            options[key] = value.strip("'\"")
    return options
