"""`python3 slim.py SITE`: deletes from SITE (a folder site-packages) the files that the service never loads.

Runs inside the build, with the standard library only. The distributions stay in the bill of materials. A test imports
every module of the service from the remaining files.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

TESTS = {"test", "tests"}
"""Folders of any package."""
SOURCES = {".c", ".cc", ".cpp", ".h", ".hpp", ".pxd", ".pxi", ".pyi", ".pyx"}
"""Sources of machine code, and type stubs."""
# A second backend of 12 MB, for interpreters that are not CPython.
SECOND_BACKEND = ("zstandard/_cffi.*", "zstandard/backend_cffi.py")
# The service has its own client, and uses only configuration and leader election of this package
# (checklist_crds.kube.official).
CLIENT = "kubernetes"
CLIENT_KEPT = (
    "__init__.py",
    "aio/__init__.py",
    "aio/client/*.py",
    "aio/client/models/__init__.py",
    "aio/config/*.py",
    "aio/utils/*.py",
    "aio/leaderelection/**",
)


def is_needed(path: PurePath) -> bool:
    """Whether the service may load the file at `path`, relative to site-packages."""
    if TESTS & set(path.parts[:-1]) or path.suffix in SOURCES or any(path.match(each) for each in SECOND_BACKEND):
        return False
    if path.parts[0] != CLIENT:
        return True
    inner = PurePath(*path.parts[1:])
    return not path.name.endswith("_test.py") and any(_is_below(inner, each) for each in CLIENT_KEPT)


def _is_below(path: PurePath, pattern: str) -> bool:
    folder, _, name = pattern.rpartition("/")
    if name == "**":
        return PurePath(folder) in path.parents
    return path.parent == PurePath(folder) and path.match(name)


def superfluous(site: Path) -> Iterator[Path]:
    for path in sorted(site.rglob("*")):
        if path.is_file() and not is_needed(path.relative_to(site)):
            yield path


def main() -> None:
    site = Path(sys.argv[1])
    for path in list(superfluous(site)):
        path.unlink()
    for folder in sorted((each for each in site.rglob("*") if each.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
