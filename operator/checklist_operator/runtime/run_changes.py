"""Status changes of runs that may have been made by hand, and be gone or unreadable."""

import logging

from pydantic import ValidationError

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.kube.run_writes import StatusChange, change_run_status
from checklist_crds.resources.kinds import Key
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.json_logging import about

logger = logging.getLogger(__name__)


async def change_if_readable(
    client: KubeClient, key: Key, change: StatusChange, *, known: JsonObject | None = None
) -> bool:
    """As `change_run_status`. Returns False for a deleted or unreadable run, which the operator never writes. Raises
    KubeError."""
    try:
        await change_run_status(client, *key, change, known=known)
    except KubeNotFound:
        return False
    except ValidationError as error:
        logger.warning("run.unreadable", extra=about(name=key[1], reason=error.errors()[0]["msg"]))
        return False
    return True
