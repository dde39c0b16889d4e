"""`/dashboard/api/{org_id}/deliveries`: the handlers of the REST API, for members."""

from collections.abc import Sequence

from checklist_crds.organization_types import Role

from ..deliveries.routes import DeliveryRoutes
from .table import Route


class DashboardDeliveryRoutes(DeliveryRoutes):
    """One method for each operation."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/runs/{run_id}/deliveries", Role.VIEWER, self.of_run),
            Route("GET", "/deliveries", Role.VIEWER, self.list),
            Route("GET", "/deliveries/replays", Role.VIEWER, self.replays),
            Route("GET", "/deliveries/replays/{replay_id}", Role.VIEWER, self.get_replay),
            Route("GET", "/deliveries/{event_id}", Role.VIEWER, self.get),
            Route("GET", "/endpoints", Role.VIEWER, self.endpoints),
            Route("POST", "/deliveries/replay", Role.EDITOR, self.replay_many),
            Route("DELETE", "/deliveries/replays/{replay_id}", Role.EDITOR, self.stop_replay),
            Route("POST", "/deliveries/{event_id}/replay", Role.EDITOR, self.replay),
        )
