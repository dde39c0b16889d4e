"""What a part of the dashboard's API consists of."""

from dataclasses import dataclass

from checklist_crds.organization_types import Role

from ..auth.gate import OwnerHandler


@dataclass(frozen=True, slots=True)
class Route:
    """One route below an organization. `path` follows `BASE`."""

    method: str
    path: str
    role: Role
    handler: OwnerHandler
