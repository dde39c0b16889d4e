"""Generate and compile clients of the REST API from an OpenAPI document.

Generators: openapi-python-client, openapi-typescript with openapi-fetch, oapi-codegen. `tests/contract/clients/` has
one scenario per language and pins the generator. An operation that a generator omits is a failure, and so is a type
error.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checklist_dev.failures import Failure, say
from checklist_dev.programs import go_build
from checklist_dev.repository import ROOT
from checklist_dev.system.cache import cache_folder, one_at_a_time, packages_once
from checklist_dev.system.progress import Report, last_word, run_with_progress
from checklist_dev.web.node import find_node
from checklist_dev.web.packages import install_packages, packages_are_current, reason_of

SOURCES: Final = ROOT / "tests" / "contract" / "clients"
_GO_GENERATOR: Final = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
_SCENARIO: Final = "scenario.py"


@dataclass(frozen=True, slots=True)
class Client:
    """A program that reads the service's address and key as JSON from standard input and prints its results as JSON."""

    command: tuple[str, ...]
    env: Mapping[str, str]


def python_client(document: Path, folder: Path, env: Mapping[str, str] = os.environ, *, report: Report = say) -> Client:
    """Generate the Python client below `folder` and check its types. Raises Failure, also for omitted operations."""
    source = SOURCES / "python"
    lock = source / "requirements.lock"
    packages = packages_once(
        cache_folder(env) / f"client-generator-{_digest(lock)}", lock, "openapi-python-client", report, env
    )
    made = folder / "generated"
    generator_env = {**env, "PYTHONPATH": str(packages)}
    generate = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--path", str(document)]
    generate += ["--config", str(source / "generator.yaml"), "--output-path", str(made / "checklist_dispatch_client")]
    lines = _run("openapi-python-client", generate, folder, generator_env, report)
    omitted = [line for line in lines if "WARNING" in line or "omitted" in line]
    if omitted:
        raise Failure(f"openapi-python-client omits parts of the document: {omitted[0]}")
    check = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports",
        "silent",
        "--cache-dir",
        str(folder / "mypy"),
    ]
    types_env = {**env, "MYPYPATH": str(made)}
    # Run outside the repository, so that its mypy settings do not apply.
    _run("mypy", [*check, "--config-file", os.devnull, str(source / _SCENARIO)], folder, types_env, report)
    return Client((sys.executable, str(source / _SCENARIO)), {**env, "PYTHONPATH": f"{made}{os.pathsep}{packages}"})


def typescript_client(
    document: Path, folder: Path, env: Mapping[str, str] = os.environ, *, report: Report = say
) -> Client:
    """Generate and compile the TypeScript client below `folder`. npm packages stay with the sources. Raises Failure."""
    source, node = SOURCES / "typescript", find_node(cache_folder(env), env, report=report)
    with one_at_a_time(ROOT / ".cache" / "typescript-client.lock", "installing openapi-typescript", report):
        if not packages_are_current(source):
            install_packages(source, source.relative_to(ROOT).as_posix(), node, env, report)
    for name in ("package.json", "tsconfig.json", "scenario.ts"):
        shutil.copy(source / name, folder / name)
    (folder / "node_modules").symlink_to(source / "node_modules")
    modules = folder / "node_modules"
    generate = (str(modules / "openapi-typescript" / "bin" / "cli.js"), str(document), "--output", "schema.d.ts")
    for what, words in (
        ("openapi-typescript", generate),
        ("tsc", (str(modules / "typescript" / "bin" / "tsc"), "--project", str(folder))),
    ):
        _run(what, [str(node.program), *words], folder, node.env(env), report)
    return Client((str(node.program), str(folder / "built" / "scenario.js")), env)


def go_client(document: Path, folder: Path, env: Mapping[str, str] = os.environ, *, report: Report = say) -> Client:
    """Generate and compile the Go client below `folder`. Raises Failure."""
    cache, module = cache_folder(env), folder / "module"
    shutil.copytree(SOURCES / "go", module)
    (module / "checklists").mkdir()
    generator, program = folder / "oapi-codegen", folder / "client"
    go_build.build_program(
        module, _GO_GENERATOR, generator, "oapi-codegen (takes about 30 s)", cache, env=env, report=report
    )
    _run("oapi-codegen", [str(generator), "-config", "generator.yaml", str(document)], module, env, report)
    what = "the generated Go client (takes about 30 s)"
    go_build.build_program(module, ".", program, what, cache, env=env, report=report)
    return Client((str(program),), env)


def _run(what: str, command: Sequence[str], folder: Path, env: Mapping[str, str], report: Report) -> list[str]:
    code, lines = run_with_progress(command, folder, env, "lines", report)
    if code != 0:
        raise Failure(f"{what} failed for the document: {reason_of(code, lines) or last_word(code, lines)}")
    return list(lines)


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
