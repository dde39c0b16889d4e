"""REST and the cluster judge templates alike, however they are wrong.

REST's verdict is `definition_problems` on what was sent. The cluster's is: refused by `kubectl apply` (schema, CEL), or
stored and then reported by the operator, which runs `definition_problems` on what the API server made of it (defaults
filled in, nulls pruned). Asked with server-side dry runs, so that thousands of objects leave nothing behind.
"""

import json
import ssl
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cluster.operator_lab import resource
from tests.unit.templates.tdl_strategies import broken_definitions, definitions, json_values

from checklist_crds.resources.template import definition_of
from checklist_crds.templates.validation import definition_problems, parse_definition
from checklist_dev.local.controlplane import ControlPlane

Json = dict[str, Any]
MANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


class Cluster:
    """Asks a real API server what it would do with a Template."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def judge(self, definition: Json) -> tuple[bool, Json | None]:
        """(refused, what would be stored)"""
        body = resource("Template", f"t-{uuid.uuid4()}", {**definition, "organizationRef": {"name": "acme"}})
        path = "/apis/checklists.dev/v1/namespaces/default/templates"
        response = self._http.post(path, params={"dryRun": "All"}, json=body)
        if response.status_code == 201:
            return False, definition_of(response.json()["spec"])
        assert response.status_code in {400, 422}, response.text
        return True, None


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    tls = ssl.create_default_context(cafile=str(control_plane.credentials.authority))
    headers = {"Authorization": f"Bearer {control_plane.token}"}
    with httpx.Client(base_url=control_plane.server, verify=tls, headers=headers, trust_env=False) as http:
        yield Cluster(http)


def _is_valid_in_cluster(cluster: Cluster, definition: Json) -> bool:
    refused, stored = cluster.judge(definition)
    return not refused and stored is not None and not definition_problems(stored)


@MANY
@given(definitions())
def test_what_rest_accepts_the_cluster_stores_unchanged(cluster: Cluster, definition: Json) -> None:
    refused, stored = cluster.judge(definition)
    assert not refused
    assert stored is not None
    assert parse_definition(stored) == parse_definition(definition)


@MANY
@given(broken_definitions())
def test_what_rest_refuses_is_never_valid_in_the_cluster(cluster: Cluster, broken: tuple[str, Json, str]) -> None:
    _, definition, _ = broken
    assert definition_problems(definition)
    assert not _is_valid_in_cluster(cluster, definition)


def _is_transportable(value: Any) -> bool:
    """Whether JSON can carry it at all: half surrogates, NaN and infinities never reach any server."""
    try:
        return bool(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except ValueError:
        return False


@MANY
@given(definitions(min_steps=1), st.data())
def test_any_value_in_any_field_gets_the_same_verdict(cluster: Cluster, definition: Json, data: st.DataObject) -> None:
    place: Any = definition
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(json_values.filter(_is_transportable))
    assert _is_valid_in_cluster(cluster, definition) == (not definition_problems(definition))
