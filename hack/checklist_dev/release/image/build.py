"""Builds the image of this clone: the web app, then the Containerfile."""

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
"""A base built from Debian packages, for machines without access to an image registry."""
BILL_IN_IMAGE: Final = "usr/share/sbom/checklist-dispatch.cdx.json"
# pip settings that are valid inside the build: no paths of this machine.
_PIP_OPTIONS: Final = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """`base`: the name of an image, a root file system as .tar, LOCAL, or empty for the Containerfile's default."""

    tag: str
    base: str = ""
    web: str = "given"
    """`given`: from `make web`; `build`: built in a stage of the Containerfile, with Node."""
    clean: bool = False
    """Build without cache."""
    cjk: bool = False
    """Include fonts for Chinese, Japanese and Korean."""


@dataclass(frozen=True, slots=True)
class Source:
    """Labels of the image about its sources."""

    version: str
    revision: str
    epoch: int

    @property
    def created(self) -> str:
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def source_of(root: Path) -> Source:
    """Read pyproject.toml and git; without git, the revision is `unknown` and the epoch 0."""
    version = str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])
    form = ["git", "-C", str(root), "log", "-1", "--format=%H %ct"]
    try:
        words = subprocess.run(form, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        words = ["unknown", "0"]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or words[1])
    return Source(version, words[0], epoch)


def build_image(engine: Engine, options: ImageOptions, report: Report) -> None:
    """Build the image and tag it `options.tag`. Raises Failure."""
    runtime_lock.check()
    arguments = {"WEB": options.web, "CJK": str(int(options.cjk))}
    if options.web == "given":
        Workspace(ROOT, cache=cache_folder(), report=report).ensure_built()
    with tempfile.TemporaryDirectory(prefix="checklist-image-") as folder:
        base = options.base
        if base == LOCAL:
            base = str(debian_rootfs(cache_folder(), report))
        if base.endswith(".tar"):
            base = image_of(Path(base), engine, report)
        if base:
            arguments["PYTHON_BASE"] = base
            if options.web == "given":
                arguments["NODE_BASE"] = base
        elif options.web == "given":
            arguments["NODE_BASE"] = default_base()
        source = source_of(ROOT)
        arguments |= {
            "VERSION": source.version,
            "REVISION": source.revision,
            "CREATED": source.created,
            "SOURCE_DATE_EPOCH": str(source.epoch),
        }
        secrets = dict(_secrets(os.environ, Path(folder)))
        report(f"building {options.tag} with {engine.name}")
        build = Build(CONTAINERFILE, ROOT, options.tag, arguments, secrets, options.clean)
        engine.build(build, "the image could not be built", report)


def default_base() -> str:
    """The base image named in the Containerfile."""
    line = next(line for line in CONTAINERFILE.read_text().splitlines() if line.startswith("ARG PYTHON_BASE="))
    return line.partition("=")[2]


def _secrets(env: Mapping[str, str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Settings and credentials for package registries, mounted during the build and stored in no layer."""
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
    """Settings of pip, from its files and the environment."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    answer = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    options = {}
    for line in answer.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in _PIP_OPTIONS:
            options[key] = value.strip("'\"")
    return options
