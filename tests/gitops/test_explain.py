"""`kubectl explain` answers: every field of every kind says in a sentence what it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from checklist_crds.crd import crd_of
from checklist_crds.crd_kinds import RESOURCES, ResourceDescription
from checklist_dev.kubectl import Kubectl

OF_KUBERNETES = ("apiVersion", "kind", "metadata")


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """(Path, description) of everything below."""
    for name, child in (schema.get("properties") or {}).items():
        if path or name not in OF_KUBERNETES:
            yield f"{path}.{name}", child.get("description", "")
            yield from fields(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from fields(schema[inner], path)


def words(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind.kind)
def test_every_field_is_explained_by_a_sentence(resource: ResourceDescription) -> None:
    schema = crd_of(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = [("", schema["description"]), *fields(schema)]
    assert len(found) > 3
    for path, text in found:
        assert text.endswith("."), (path, text)
        assert text[0].isupper() or text.startswith("metadata."), (path, text)
        assert len(text.split()) >= 2, (path, text)
        assert words(text).removeprefix("the") != words(path.rpartition(".")[2]), (path, text)


def test_kubectl_explains_every_kind_to_the_end(kubectl: Kubectl) -> None:
    for resource in RESOURCES:
        told = kubectl("explain", resource.kind.plural, "--recursive")
        assert " ".join(resource.description.split()) in " ".join(told.split())
        spec = kubectl("explain", f"{resource.kind.plural}.spec")
        assert "<no description>" not in spec
