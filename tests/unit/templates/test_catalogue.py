"""The cache of all organizations' templates, without a cluster."""

from typing import Any

from tests.unit.kube.memory_cluster import NO_CLUSTER

from checklist_api.templates.catalogue import TemplateCatalogue


def a_template(name: str, version: int, organization: str = "acme") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "main", "resourceVersion": str(version), "generation": 1}
    return {
        "metadata": metadata | {"creationTimestamp": "2026-11-21T12:00:00Z"},
        "spec": {"organizationRef": {"name": organization}, "name": "Opening", "sections": []},
    }


def test_nothing_is_kept_of_a_deleted_template() -> None:
    catalogue = TemplateCatalogue(NO_CLUSTER, NO_CLUSTER)
    for number in range(3):
        catalogue.informer.observe(a_template(f"t-{number}", 1))
    catalogue.informer.observe(a_template("t-9", 1, "globex"))
    catalogue.informer.observe(a_template("t-9", 2, "globex"))
    for name in ("t-0", "t-1", "t-9"):
        catalogue.informer.forget(a_template(name, 3))
    assert {name: len(kept) for name, kept in catalogue._by_organization.items()} == {"acme": 1}
    catalogue.informer.observe(a_template("t-9", 4, "globex"))
    assert len(catalogue._by_organization["globex"]) == 1
