"""Options that select the cluster and the installation in it, and the connection."""

import logging
import os
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from .command import CommandFailed

if TYPE_CHECKING:
    from checklist_crds.kube.client import KubeClient


def add_kubeconfig_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="the cluster (default: KUBECONFIG, ~/.kube/config, the pod)"
    )


def add_namespace_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        default=os.environ.get("CHECKLISTS_NAMESPACE") or "checklists",
        help="namespace of the installation (default: CHECKLISTS_NAMESPACE, else checklists)",
    )


def served_namespaces() -> tuple[str, ...]:
    """CHECKLISTS_WATCH_NAMESPACES: the only ones that the service account may read. Empty: all."""
    words = (word.strip() for word in os.environ.get("CHECKLISTS_WATCH_NAMESPACES", "").split(","))
    return tuple(word for word in words if word)


@asynccontextmanager
async def connected(
    kubeconfig: str | None,
    *,
    context: str | None = None,
    namespaces: tuple[str, ...] = (),
    answer_within_s: float = 10.0,
    advice: str = "",
    also: tuple[type[Exception], ...] = (),
) -> "AsyncIterator[KubeClient]":
    """A client of the cluster. A KubeError or one of `also` in the block ends the command, followed by `advice`."""
    # Imported late: the cluster client takes half a second to import, and other commands do not need it.
    from checklist_crds.kube.client import KubeClient, KubeConnection
    from checklist_crds.kube.errors import KubeError

    # The error that follows contains what its configuration loader logs.
    logging.getLogger("kubernetes").setLevel(logging.ERROR)
    ends: tuple[type[Exception], ...] = (KubeError, *also)
    try:
        connection = await KubeConnection.load(kubeconfig, context=context)
        async with KubeClient(connection, answer_within_s=answer_within_s, namespaces=namespaces) as client:
            yield client
    except ends as error:
        raise CommandFailed(f"{error}{advice}") from None
