"""`/dashboard/api/{org_id}/exports` and stable photo links: the handlers of the REST API, for members.

What is exported here links to addresses that ask for a session instead of a key, so that a link in a spreadsheet opens.
"""

from collections.abc import Sequence

from checklist_crds.organization_types import Role

from ..auth.gate import Caller
from ..exports.routes import ExportRoutes
from ..exports.stable_links import PHOTO, StablePhotoRoutes
from .table import Route


class DashboardExportRoutes(ExportRoutes):
    """One method for each operation."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/exports", Role.VIEWER, self.runs),
            Route("GET", "/runs/{run_id}/export", Role.VIEWER, self.run),
        )

    def base(self, caller: Caller) -> str:
        return f"{self._base_url}/dashboard/api/{caller.organization.id}"


class DashboardPhotoRoutes(StablePhotoRoutes):
    """One method for each operation."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", PHOTO, Role.VIEWER, self.photo),
            Route("GET", f"{PHOTO}/thumbnail", Role.VIEWER, self.thumbnail),
        )
