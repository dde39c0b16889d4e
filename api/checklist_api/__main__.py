"""`python -m checklist_api`: serve until SIGTERM or SIGINT, then drain connections and finish open requests."""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import uvloop
from aiohttp import web

from checklist_crds.kube.errors import KubeError
from checklist_crds.platform.event_loop import EventLoop
from checklist_crds.platform.memory import configure_malloc
from checklist_crds.platform.process_end import end_process

from .app import application
from .http.server import ApiRunner
from .logs import log_to_stderr
from .settings.service import InvalidSetting, Settings, help_text
from .settings.sign_in import keeps_secure_cookies

logger = logging.getLogger("checklist_api")

_SHUTDOWN_TIMEOUT_S: Final = 10.0


async def serve(settings: Settings) -> None:
    """Serve until a signal. Raises InvalidSetting, KubeError (no usable cluster), OSError (port in use)."""
    runner = ApiRunner(
        await application(settings),
        access_log=logging.getLogger("aiohttp.access") if settings.access_log else None,
        shutdown_timeout=_SHUTDOWN_TIMEOUT_S,
    )
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await runner.setup()
    try:
        await web.TCPSite(runner, settings.host, settings.port, backlog=1024).start()
        logger.info("api.listening", extra={"host": settings.host, "port": settings.port, "url": settings.base_url})
        if settings.allow_insecure_targets:
            logger.warning("api.insecure_targets_allowed", extra={"setting": "CHECKLISTS_ALLOW_INSECURE_TARGETS"})
        if not keeps_secure_cookies(settings.base_url):
            # Browsers reject Secure cookies of such a URL, so sessions do not work.
            logger.warning(
                "api.dashboard_needs_https", extra={"setting": "CHECKLISTS_BASE_URL", "url": settings.base_url}
            )
        if settings.model is not None and settings.model.is_overheard:
            logger.warning("api.model_without_tls", extra={"setting": "CHECKLISTS_MODEL_URL"})
        await stopped.wait()
        logger.info("api.stopping")
        await runner.drain()
    finally:
        await runner.cleanup()
        logger.info("api.stopped")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 after a clean end, 2 for invalid settings or environment."""
    parser = argparse.ArgumentParser(
        prog="python -m checklist_api",
        description="Serve the REST API of Checklist Dispatch.",
        epilog=help_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
    except InvalidSetting as error:
        print(f"checklist_api: {error}", file=sys.stderr)  # noqa: T201 - before logging is set up
        return 2
    log_to_stderr(settings.log_level)
    configure_malloc()
    # Existing objects are permanent; requests create short-lived ones and few cycles.
    gc.freeze()
    gc.set_threshold(50_000, 5, 10)
    try:
        uvloop.run(serve(settings), loop_factory=EventLoop)
    except (InvalidSetting, KubeError, OSError) as error:
        print(f"checklist_api: {error}", file=sys.stderr)  # noqa: T201 - one line for a person
        return 2
    return 0


def run() -> NoReturn:
    """Run the process with the exit status of `main`."""
    end_process(main())


if __name__ == "__main__":
    run()
