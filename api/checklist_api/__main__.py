"""`python -m checklist_api`: serve until SIGTERM or SIGINT, then finish the requests under way."""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

import uvloop
from aiohttp import web

from checklist_crds.kube.client import KubeConnection
from checklist_crds.kube.errors import KubeError

from .app import create_app
from .logs import log_to_stderr
from .services import Services
from .settings import DESCRIPTION, InvalidSetting, Settings

logger = logging.getLogger("checklist_api")

_REQUESTS_MAY_FINISH_S: Final = 10.0


async def serve(settings: Settings) -> None:
    """Raises InvalidSetting, KubeError when there is no usable configuration, OSError when the port cannot be had."""
    services = Services.build(settings, await KubeConnection.load())
    runner = web.AppRunner(
        create_app(services),
        access_log=logging.getLogger("aiohttp.access") if settings.access_log else None,
        shutdown_timeout=_REQUESTS_MAY_FINISH_S,
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
        await stopped.wait()
        logger.info("api.stopping")
    finally:
        await runner.cleanup()
        logger.info("api.stopped")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 after a clean end, 2 when a setting or the environment does not allow to serve."""
    parser = argparse.ArgumentParser(
        prog="python -m checklist_api",
        description="Serve the REST API of Checklist Dispatch.",
        epilog="settings (environment variables):\n" + DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
    except InvalidSetting as error:
        print(f"checklist_api: {error}", file=sys.stderr)  # noqa: T201 - before logging is set up
        return 2
    log_to_stderr()
    # What is there now stays; what requests make is short-lived and hardly ever in circles.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        uvloop.run(serve(settings))
    except (InvalidSetting, KubeError, OSError) as error:
        print(f"checklist_api: {error}", file=sys.stderr)  # noqa: T201 - one line for a person
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
