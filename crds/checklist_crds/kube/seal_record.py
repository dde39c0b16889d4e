"""When this installation began to seal runs: a ConfigMap in its namespace, made at the first start with seals.

Its creation time counts, which the API server sets. It lives in the installation's own namespace, where tenants may
write nothing.
"""

import asyncio
import logging
from datetime import datetime
from typing import Final

from ..times import parse_timestamp
from .client import KubeClient
from .errors import KubeAlreadyExists, KubeError, KubeNotFound
from .kinds import CONFIG_MAP

logger = logging.getLogger(__name__)

NAME: Final = "checklist-dispatch-sealed-since"
_AGAIN_S: Final = 1.0


async def sealed_since(client: KubeClient, namespace: str) -> datetime:
    """The record of the installation in `namespace`, made now if there is none. Raises KubeError."""
    try:
        body = await client.get(CONFIG_MAP, NAME, namespace)
    except KubeNotFound:
        description = "Runs that are younger than this object are believed to be admitted only with a seal."
        new = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"name": NAME, "namespace": namespace},
            "data": {"description": description},
        }
        try:
            body = await client.create(CONFIG_MAP, new, namespace)
        except KubeAlreadyExists:
            body = await client.get(CONFIG_MAP, NAME, namespace)
    return parse_timestamp(body["metadata"]["creationTimestamp"])


async def wait_for_record(client: KubeClient, namespace: str) -> datetime:
    """The same, however long the cluster does not answer."""
    said = ""
    while True:
        try:
            return await sealed_since(client, namespace)
        except KubeError as error:
            if error.message != said:
                logger.warning("the record of sealed runs cannot be read: %s", error.message)
            said = error.message
            await asyncio.sleep(_AGAIN_S)
