"""What the doctor asks for is what the chart grants: with one right more it would call a good installation wrong."""

import pytest

from checklist_cli.doctor.rights import ACCOUNTS, needed

from .conftest import Object, rendered


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return rendered({})


@pytest.mark.parametrize("component", ACCOUNTS)
def test_every_right_that_is_asked_for_is_granted(objects: list[Object], component: str) -> None:
    granted = {
        (group, resource, verb)
        for body in objects
        if body["kind"] in ("Role", "ClusterRole")
        and body["metadata"]["labels"].get("app.kubernetes.io/component") == component
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted, "no role was rendered: nothing was compared"
    assert set(needed(component)) <= granted
