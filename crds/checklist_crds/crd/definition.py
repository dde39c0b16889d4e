"""Builds the CustomResourceDefinitions from the models."""

from typing import Any

import yaml

from ..resources.base import GROUP, VERSION
from .resource_descriptions import ResourceDescription, Rule
from .schema import Schema, structural_schema

CRD_VERSION_ANNOTATION = f"{GROUP}/crd-version"
CRD_VERSION = 18
"""Increased with every change of the CRDs, so that an older release does not replace newer ones."""

_HEADER = "# Generated from the models in checklist_crds by `make crds`; do not edit.\n"


def crd_of(resource: ResourceDescription) -> dict[str, Any]:
    kind = resource.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            "annotations": {CRD_VERSION_ANNOTATION: str(CRD_VERSION)},
            "labels": {"app.kubernetes.io/part-of": "checklist-dispatch"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": resource.singular,
                "shortNames": [resource.short_name],
                "categories": ["checklists"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(column) for column in resource.columns],
                    **({"selectableFields": [{"jsonPath": path} for path in resource.selectable]}
                       if resource.selectable else {}),
                    "schema": {"openAPIV3Schema": _schema_of(resource)},
                }
            ],
        },
    }  # fmt: skip


def _column(column: Any) -> dict[str, Any]:
    result = {"name": column.name, "type": column.type, "jsonPath": column.path}
    return result | ({"priority": 1} if column.wide else {})


def _schema_of(resource: ResourceDescription) -> Schema:
    status = structural_schema(resource.status, keep_defaults=False)
    if resource.status_default:
        status["default"] = {}
    schema: Schema = {
        "type": "object",
        "description": resource.description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural_schema(resource.spec, keep_defaults=resource.spec_defaults),
            "status": status,
        },
    }
    for path in resource.list_maps:
        place = _place(schema, path)
        place["x-kubernetes-list-type"] = "map"
        place["x-kubernetes-list-map-keys"] = ["id"]
    for path in resource.atomic:
        _place(schema, path)["x-kubernetes-map-type"] = "atomic"
    for rule in resource.rules:
        _add_rule(schema, rule)
    return schema


def _add_rule(schema: Schema, rule: Rule) -> None:
    place = _place(schema, rule.at)
    place.setdefault("x-kubernetes-validations", []).append({"rule": rule.rule, "message": rule.message})


def _place(schema: Schema, path: str) -> Schema:
    """Returns the schema at a path such as `spec.sections[].steps`. Raises KeyError for an unknown field."""
    for part in filter(None, path.split(".")):
        schema = schema["properties"][part.removesuffix("[]")]
        if part.endswith("[]"):
            schema = schema["items"]
    return schema


def render(resource: ResourceDescription) -> str:
    """Renders the YAML file of one kind."""
    return _HEADER + yaml.safe_dump(crd_of(resource), sort_keys=False, allow_unicode=True, width=120)
