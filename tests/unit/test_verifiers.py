"""When the programs of other languages are built; with a stand-in for Go."""

from pathlib import Path
from typing import Any

import pytest

from checklist_dev import go_build, verifiers


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A module of one file below a root of its own; the list tells what Go was asked to build."""
    asked: list[str] = []

    def build_program(module: Path, package: str, target: Path, what: str, cache: Path, **_: Any) -> None:
        asked.append(what)
        target.write_text("program")

    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.go").write_text("package main")
    monkeypatch.setattr(verifiers, "ROOT", tmp_path)
    monkeypatch.setattr(verifiers, "BUILT", tmp_path / "built")
    monkeypatch.setattr(go_build, "build_program", build_program)
    return asked


def build(root: Path) -> Path:
    module = root / "module"
    return verifiers._built("judges", module, [module], root / "cache", env={}, report=lambda line: None)


def test_a_program_is_built_once_for_the_same_sources(built: list[str], tmp_path: Path) -> None:
    assert build(tmp_path) == build(tmp_path)
    assert built == ["module (about half a minute)"]


@pytest.mark.parametrize("name", ["main.go", "other.go", "go.mod"])
def test_a_changed_source_is_another_program_and_the_old_one_goes(built: list[str], tmp_path: Path, name: str) -> None:
    before = build(tmp_path)
    (tmp_path / "module" / name).write_text("package main // changed")
    after = build(tmp_path)
    assert after != before
    assert [path.name for path in after.parent.iterdir()] == [after.name]
    assert len(built) == 2


def test_a_build_that_broke_off_leaves_no_program(
    built: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(module: Path, package: str, target: Path, *_: Any, **__: Any) -> None:
        target.write_text("half a program")
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(go_build, "build_program", break_off)
        with pytest.raises(RuntimeError):
            build(tmp_path)
    assert build(tmp_path).read_text() == "program"
