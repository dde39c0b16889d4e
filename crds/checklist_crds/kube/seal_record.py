"""Records since when this installation seals runs, and since when its seals expire: two ConfigMaps in its namespace,
each created at the first start of a version that does so.

Their creation times, set by the API server, count. Tenants have no write access to the installation's namespace.
"""

import asyncio
import logging
from datetime import datetime
from typing import Final

from ..resources.kinds import CONFIG_MAP
from ..runs.seal import RunSeals
from ..times import parse_timestamp
from .client import KubeClient
from .errors import KubeAlreadyExists, KubeError, KubeForbidden, KubeNotFound

logger = logging.getLogger(__name__)

SEALED_SINCE: Final = "checklist-dispatch-sealed-since"
SEALS_EXPIRE_SINCE: Final = "checklist-dispatch-seals-expire-since"
_DESCRIPTIONS: Final = {
    SEALED_SINCE: "Runs that are younger than this object are believed to be admitted only with a seal.",
    SEALS_EXPIRE_SINCE: "Runs that are younger than this object must have been created when they were sealed.",
}
_RETRY_S: Final = 1.0


async def read_records(client: KubeClient, namespace: str, seals: RunSeals) -> None:
    """Passes the records of the installation in `namespace` to `seals`; creates missing ones. Raises KubeError.

    With the roles of an earlier version, the second one can be neither read nor created: then all seals expire.
    """
    if seals.expire_since is None:
        try:
            seals.expire_since = await _created_at(client, namespace, SEALS_EXPIRE_SINCE)
        except KubeForbidden as error:
            logger.warning("runs restored by an earlier version are not trusted: %s", error.message)
    if seals.since is None:
        seals.since = await _created_at(client, namespace, SEALED_SINCE)


async def wait_for_records(client: KubeClient, namespace: str, seals: RunSeals) -> None:
    """Like `read_records`, but retries until the cluster answers."""
    said = ""
    while True:
        try:
            return await read_records(client, namespace, seals)
        except KubeError as error:
            if error.message != said:
                logger.warning("the records of sealed runs cannot be read: %s", error.message)
            said = error.message
            await asyncio.sleep(_RETRY_S)


async def _created_at(client: KubeClient, namespace: str, name: str) -> datetime:
    try:
        body = await client.get(CONFIG_MAP, name, namespace)
    except KubeNotFound:
        new = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"name": name, "namespace": namespace},
            "data": {"description": _DESCRIPTIONS[name]},
        }
        try:
            body = await client.create(CONFIG_MAP, new, namespace)
        except KubeAlreadyExists:
            body = await client.get(CONFIG_MAP, name, namespace)
    return parse_timestamp(body["metadata"]["creationTimestamp"])
