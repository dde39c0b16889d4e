"""`/dashboard/api/{org_id}/exports` and the photos' lasting addresses: as the REST API does it, for members.

What is exported here links to addresses that ask for a session instead of a key, so that a link in a spreadsheet opens.
"""

from collections.abc import Sequence

from checklist_crds.organization_types import Role

from ..auth.gate import Caller
from ..exports.routes import ExportRoutes
from ..exports.stable_links import PHOTO, StablePhotoRoutes
from ..wiring import Services
from .table import Route


def routes(services: Services) -> Sequence[Route]:
    exports, photos = DashboardExportRoutes(services), StablePhotoRoutes(services)
    return (
        Route("GET", "/exports", Role.VIEWER, exports.runs),
        Route("GET", "/runs/{run_id}/export", Role.VIEWER, exports.run),
        Route("GET", PHOTO, Role.VIEWER, photos.photo),
        Route("GET", f"{PHOTO}/thumbnail", Role.VIEWER, photos.thumbnail),
    )


class DashboardExportRoutes(ExportRoutes):
    """One method for each operation."""

    def base(self, caller: Caller) -> str:
        return f"{self._services.settings.base_url}/dashboard/api/{caller.organization.id}"
