"""When the web app is built, with which Node, and what is said when it cannot be; with stand-ins for node and npm."""

import json
from pathlib import Path

import pytest

from checklist_dev.failures import Failure
from checklist_dev.web.build import Workspace

NODE = """#!/bin/sh
case "$1" in
  --version) echo "$NODE_VERSION" ;;
  */build.mjs)
    echo build >> "$CALLS"
    if [ -n "$BUILD_FAILS" ]; then
      printf 'working\\n\\033[31m[UNRESOLVED_IMPORT] \\033[0mno such file\\n  at node:1\\n'
      exit 1
    fi
    mkdir -p "$2/executor" "$2/dashboard"
    echo page > "$2/executor/index.html"; echo page > "$2/dashboard/index.html" ;;
esac
"""
NPM = """#!/bin/sh
echo "npm $1" >> "$CALLS"
if [ -n "$NPM_FAILS" ]; then printf 'npm error code E404\\nnpm error 404 no such package\\n'; exit 1; fi
mkdir -p node_modules && cp package-lock.json node_modules/.package-lock.json
"""


class Checkout:
    """A repository with a web workspace of two files, and a machine with node and npm on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.web = self.root / "api" / "web"
        (self.web / "executor").mkdir(parents=True)
        self.source = self.web / "executor" / "main.tsx"
        self.source.write_text("one")
        self.lock("1.0.0")
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in {"node": NODE, "npm": NPM}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        self._calls = folder / "calls"
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "NODE_VERSION": "v22.12.0", "CALLS": str(self._calls)}
        self.said: list[str] = []

    def lock(self, version: str) -> None:
        packages = {"": {}, "node_modules/preact": {"version": version}}
        packages["node_modules/odd"] = {"version": "1", "optional": True}
        (self.web / "package-lock.json").write_text(json.dumps({"packages": packages}))

    def build(self) -> list[str]:
        """What was called."""
        self._calls.write_text("")
        Workspace(self.root, cache=self.root / "cache", report=self.said.append, env=self.env).ensure_built()
        return self._calls.read_text().splitlines()

    @property
    def page(self) -> Path:
        return self.root / "api" / "checklist_api" / "web_dist" / "executor" / "index.html"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_change_is_built_again_and_only_changed_packages_are_installed(checkout: Checkout) -> None:
    (checkout.web / "node_modules" / "preact").mkdir(parents=True)  # of an interrupted installation
    assert checkout.build() == ["npm ci", "build"]
    assert checkout.page.is_file()
    assert len(checkout.said) == 3
    for change, calls in (
        (lambda: checkout.source.write_text("two"), ["build"]),
        (lambda: checkout.source.rename(checkout.source.with_name("other.tsx")), ["build"]),
        (checkout.page.unlink, ["build"]),
        (lambda: checkout.lock("1.0.1"), ["npm ci", "build"]),
        (lambda: (checkout.web / "executor" / "main.test.tsx").write_text("no built file depends on it"), []),
    ):
        change()
        assert checkout.build() == calls
        assert checkout.build() == []
    checkout.said.clear()
    checkout.env["PATH"] = ""  # without a change, no Node is needed
    assert (checkout.build(), checkout.said) == ([], [])


def test_a_failed_build_is_one_line_with_the_reason_and_leaves_what_was_there(checkout: Checkout) -> None:
    checkout.build()
    before = checkout.page.read_text()
    checkout.source.write_text("wrong")
    checkout.env["BUILD_FAILS"] = "1"
    with pytest.raises(Failure) as failure:
        checkout.build()
    line = str(failure.value)
    assert "[UNRESOLVED_IMPORT] no such file (see " in line
    assert "\n" not in line
    assert "working" in Path(line.rpartition("(see ")[2].rstrip(")")).read_text()
    assert checkout.page.read_text() == before
    assert list(checkout.page.parents[2].glob(".web_dist-*")) == []
    checkout.lock("1.0.1")
    checkout.env["NPM_FAILS"] = "1"
    with pytest.raises(Failure, match=r"could not be installed: npm error 404 no such package$"):
        checkout.build()
    del checkout.env["BUILD_FAILS"], checkout.env["NPM_FAILS"]
    assert checkout.build() == ["npm ci", "build"]
