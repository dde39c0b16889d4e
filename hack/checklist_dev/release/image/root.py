"""`python3 root.py INTO APPLICATION`: creates a root file system with Python and everything that APPLICATION loads.

Runs inside the build, on the base image, with the standard library only. It copies the interpreter, the standard
library, the shared libraries they need, the CA certificates, and the records of the Debian packages of these files.
There is no shell and no tool.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

USER = 65532
# Parts of the standard library for environments, packaging, windows and tests.
LEFT_OUT = {
    "__pycache__", "config", "dist-packages", "distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data",
    "site-packages", "test", "tests", "tkinter", "turtle.py", "turtledemo", "venv",
}  # fmt: skip
LEFT_OUT_PREFIXES = (
    "config-",
    "_ctypes_test",
    "_curses",
    "_dbm.",
    "_gdbm.",
    "_test",
    "_tkinter",
    "_xxtestfuzz",
    "nis.",
    "xxlimited",
)
FILES = ("/etc/os-release", "/etc/nsswitch.conf", "/etc/ld.so.conf", "/etc/ssl/openssl.cnf", "/usr/lib/ssl/openssl.cnf")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PASSWD = f"root:x:0:0:root:/:/nonexistent\nnonroot:x:{USER}:{USER}:nonroot:/nonexistent:/nonexistent\n"
GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"
_ELF = b"\x7fELF"


class Root:
    """A root file system being created; `taken`: copied paths of the base."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: set[str] = set()
        for name in ("bin", "lib", "lib64", "sbin"):
            # Programs name the loader as /lib64/..., which may be a link.
            link = Path("/", name)
            if link.is_symlink():
                self._make(Path(name)).symlink_to(link.readlink())

    def take(self, path: Path) -> None:
        """Copy a file, or a link and its target. Parent folders that are links are followed, not copied."""
        real = Path(os.path.realpath(path.parent)) / path.name
        if str(real) in self.taken or not os.path.lexists(real):
            return
        self.taken.add(str(real))
        target = self._make(real.relative_to("/"))
        if real.is_symlink():
            target.symlink_to(real.readlink())
            self.take(real.parent / real.readlink())
        else:
            shutil.copyfile(real, target)
            target.chmod(0o755 if os.access(real, os.X_OK) else 0o644)

    def take_tree(self, folder: Path) -> None:
        for path in tree(folder):
            self.take(path)

    def write(self, path: str, text: str) -> None:
        self._make(Path(path)).write_text(text)

    def _make(self, relative: Path) -> Path:
        target = self.folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def tree(folder: Path) -> Iterator[Path]:
    """The files of the standard library to copy, in order."""
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT or path.name.startswith(LEFT_OUT_PREFIXES):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from tree(path)
        else:
            yield path


def machine_code(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == _ELF:
                    yield path


def libraries(program: Path) -> Iterator[Path]:
    """The shared libraries of `program`. Exits if one is missing."""
    answer = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for line in answer.splitlines():
        words = line.split()
        if "not found" in line:
            sys.exit(f"error: {program} needs {words[0]}, which the base image does not have")
        paths = [word for word in words if word.startswith("/")]
        if paths:
            yield Path(paths[0])


def distribution_packages(taken: set[str]) -> Iterator[tuple[str, str]]:
    """(name, paragraph of dpkg's status) of each Debian package with one of the files."""
    status = Path("/var/lib/dpkg/status")
    if not status.exists():
        return
    real = {str(Path(path)) for path in taken}
    for paragraph in status.read_text().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")
        name, architecture = fields.get("Package"), fields.get("Architecture")
        lists = (Path(f"/var/lib/dpkg/info/{stem}.list") for stem in (name, f"{name}:{architecture}"))
        files = {os.path.realpath(line) for each in lists if each.exists() for line in each.read_text().splitlines()}
        if name and any(os.path.realpath(path) in files for path in real if not path.endswith(".crt")):
            yield name, paragraph.strip() + "\n"


def lay(into: Path, application: Path) -> None:
    into.mkdir(parents=True)
    root = Root(into)
    # By the name that the application's `python` links to, so that the link works.
    interpreter = application / "bin" / "python3"
    interpreter = interpreter.parent / interpreter.readlink()
    root.take(interpreter)
    paths = sysconfig.get_paths()
    for folder in {paths["stdlib"], paths["platstdlib"]}:
        root.take_tree(Path(folder))
    for program in (interpreter, *machine_code(into), *machine_code(application)):
        for library in libraries(program):
            if application not in library.parents:
                root.take(library)
    for name in FILES:
        root.take(Path(name))
    root.take_tree(Path("/etc/ld.so.conf.d"))
    if not Path(CERTIFICATES).exists():
        sys.exit(f"error: the base image has no {CERTIFICATES}")
    root.take(Path(CERTIFICATES))
    root.write("etc/passwd", PASSWD)
    root.write("etc/group", GROUP)
    for name, paragraph in distribution_packages(root.taken):
        # Image scanners read this folder if there is no package manager.
        root.write(f"var/lib/dpkg/status.d/{name}", paragraph)
    subprocess.run(["ldconfig", "-X", "-r", into], check=True)
    shutil.rmtree(into / "var" / "cache", ignore_errors=True)
    (into / "tmp").mkdir()
    (into / "tmp").chmod(0o1777)


if __name__ == "__main__":
    lay(Path(sys.argv[1]), Path(sys.argv[2]))
