"""Finds Run objects by public id in the cluster. Slow: the API server looks at every run."""

from ..resources.kinds import RUN
from ..resources.run_id import RUN_ID_FIELD, run_id_of
from .client import JsonObject, KubeClient
from .errors import KubeNotFound


async def find_runs(client: KubeClient, run_id: str, namespace: str | None = None) -> list[JsonObject]:
    """Returns the runs with this id, admitted or not; there is more than one only while admission has not refused the
    others. Raises KubeError."""
    named, _ = await client.list_all(RUN, namespace, field_selector=f"metadata.name={run_id}")
    given, _ = await client.list_all(RUN, namespace, field_selector=f"{RUN_ID_FIELD}={run_id}")
    return [body for body in (*named, *given) if run_id_of(body) == run_id]


async def find_run_in(client: KubeClient, run_id: str, namespace: str) -> JsonObject | None:
    """Returns the run with this id in one namespace, where reading by name comes first. Raises KubeError."""
    try:
        return await client.get(RUN, run_id, namespace)
    except KubeNotFound:
        given, _ = await client.list_all(RUN, namespace, field_selector=f"{RUN_ID_FIELD}={run_id}")
        return next((body for body in given if run_id_of(body) == run_id), None)
