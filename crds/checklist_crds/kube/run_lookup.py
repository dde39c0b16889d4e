"""Finds Run objects by public id in the cluster. Slow: the API server looks at every run."""

from ..resources.kinds import RUN
from ..resources.run_id import RUN_ID_FIELD, run_id_of
from ..values.json_text import JsonObject
from .client import KubeClient
from .errors import KubeInvalid, KubeNotFound


async def find_runs(client: KubeClient, run_id: str, namespace: str | None = None) -> list[JsonObject]:
    """Returns the runs with this id, admitted or not; there is more than one only while admission has not refused the
    others. Raises KubeError."""
    named, _ = await client.list_all(RUN, namespace, field_selector=f"metadata.name={run_id}")
    return [*named, *await find_renamed(client, run_id, namespace)]


async def find_renamed(client: KubeClient, run_id: str, namespace: str | None = None) -> list[JsonObject]:
    """Returns the runs with this id and another name. Raises KubeError."""
    try:
        given, _ = await client.list_all(RUN, namespace, field_selector=f"{RUN_ID_FIELD}={run_id}")
    except KubeInvalid:
        return []  # definitions of an earlier version, which allow no other names
    return [body for body in given if run_id_of(body) == run_id]


async def find_run_in(client: KubeClient, run_id: str, namespace: str) -> JsonObject | None:
    """Returns the run with this id in one namespace; quick if it is its name. Raises KubeError."""
    try:
        return await client.get(RUN, run_id, namespace)
    except KubeNotFound:
        found = await find_renamed(client, run_id, namespace)
        return found[0] if found else None
