"""`python -m checklist_dev.web`: build, check, test and develop the web surfaces, and generate their types."""

import argparse
import os
import sys
from pathlib import Path

from checklist_dev.failures import Failure, end_on_signals, run_tool, say
from checklist_dev.repository import ROOT, STATE
from checklist_dev.system.cache import cache_folder
from checklist_dev.system.service_state import ServiceState, read_json
from checklist_dev.web import rest_types
from checklist_dev.web.build import SURFACES, Workspace

SERVER_PORT = 5173


def workspace() -> Workspace:
    return Workspace(ROOT, cache=cache_folder(), report=say)


def build(web: Workspace) -> None:
    web.ensure_built()


def packages(web: Workspace) -> None:
    web.ensure_packages()


def check(web: Workspace) -> None:
    """Check the types, and whether the generated types are current."""
    web.ensure_packages()
    _pass_on(web, "typescript/bin/tsc", "--noEmit", "--pretty", "false")
    rest_types.check(web)


def test(web: Workspace) -> None:
    web.ensure_packages()
    _pass_on(web, "vitest/vitest.mjs", "run", *(["--reporter=dot"] if not sys.stdout.isatty() else []))


def types(web: Workspace) -> None:
    print(rest_types.write(web))


def develop(web: Workspace, surface: str) -> None:
    """Serve one surface with hot reload, against the service of `make run`."""
    info = read_json(ServiceState(STATE).info)
    if not info:
        raise Failure("no service is running: start it with `make run` in another terminal")
    web.ensure_packages()
    own = f"http://127.0.0.1:{SERVER_PORT}"
    if surface == "dashboard":
        link = str(info.get("sign_in_link") or "").replace(str(info["base_url"]), own, 1)
        say(f"the dashboard: {own}/dashboard/" + (f"\nsigns in once: {link}" if link else ""))
    else:
        say(f"the run of `make run`: {str(info['link']).replace(str(info['base_url']), own, 1)}")
    say("Ctrl-C ends it.")
    env = web.node.env({**os.environ, "CHECKLISTS_SERVICE": str(info["base_url"]), "CHECKLISTS_SURFACE": surface})
    os.chdir(web.sources)
    vite = [str(web.node.program), str(Path("node_modules/vite/bin/vite.js"))]
    arguments = ["--host", "127.0.0.1", "--port", str(SERVER_PORT), "--strictPort", "--clearScreen", "false"]
    os.execvpe(vite[0], [*vite, *arguments], env)  # noqa: S606 - replaces this process, so that Ctrl-C reaches it


def _pass_on(web: Workspace, script: str, *arguments: str) -> None:
    """Run a tool with its output unchanged. Raises Failure if it fails."""
    code = web.run_openly(script, *arguments)
    if code != 0:
        raise Failure(f"{Path(script).name} failed (see above)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.web", description=__doc__)
    commands = {"build": build, "packages": packages, "check": check, "test": test, "types": types}
    parser.add_argument("command", choices=[*commands, "dev"])
    parser.add_argument("surface", nargs="?", choices=SURFACES, default=SURFACES[0], help="for dev (%(default)s)")
    arguments = parser.parse_args()
    if arguments.command == "dev":
        develop(workspace(), arguments.surface)
    else:
        end_on_signals()
        commands[arguments.command](workspace())
    return 0


if __name__ == "__main__":
    run_tool(main)
