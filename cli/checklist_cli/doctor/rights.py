"""What API and operator have to be allowed, by the chart's own rules (a test compares the two)."""

from collections.abc import Iterator
from typing import Final

from checklist_crds.resources.base import GROUP

ACCOUNTS: Final = ("api", "operator")
"""By the component's name in the chart."""
_API: Final = {
    "runs": "create get list watch",
    "runs/status": "patch",
    "templates": "create get list watch update delete",
    "templaterevisions": "create get",
    "organizations": "get list watch",
    "organizations/status": "patch",
    "apikeys": "get list watch",
    "members": "get list watch",
    "webhookdeliveries": "get list watch",
}
_OPERATOR: Final = {
    "runs": "get list watch delete",
    "runs/status": "patch",
    "templates": "get list watch",
    "templaterevisions": "create get list delete",
    "organizations": "get list watch",
    "webhookdeliveries": "create get list watch delete",
    "webhookdeliveries/status": "patch",
}


def needed(component: str) -> Iterator[tuple[str, str, str]]:
    """(API group, resource or resource/subresource, verb), those without which the main job stands still."""
    for resource, verbs in (_API if component == "api" else _OPERATOR).items():
        for verb in verbs.split():
            yield GROUP, resource, verb
    if component == "operator":
        for verb in ("create", "get", "update"):
            yield "coordination.k8s.io", "leases", verb
