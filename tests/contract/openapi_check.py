"""Holds real messages against the OpenAPI document, more strictly than the document is: no field may be undescribed."""

import copy
import re
from collections import defaultdict
from typing import Any

import httpx
from jsonschema import Draft202012Validator

Json = dict[str, Any]


class Contract:
    """The document, and which answers of it were seen."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.seen: dict[str, set[int]] = defaultdict(set)
        self._components = {"schemas": {k: closed(v) for k, v in document["components"]["schemas"].items()}}
        self._patterns = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path.replace("{run_id}", "[^/.]+")) + "$"), path)
            for path in sorted(document["paths"], key=lambda path: path.count("{"))
        ]

    def problems(self, schema: Json, value: Any) -> list[str]:
        """What the schema has against `value`."""
        validator = Draft202012Validator({**schema, "components": self._components})
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]

    def operation_of(self, method: str, path: str) -> Json | None:
        """None for what the document leaves out: the dashboard, and what there is no route for."""
        template = next((template for pattern, template in self._patterns if pattern.match(path)), "")
        methods: Json = self.document["paths"].get(template, {})
        return methods.get("get" if method == "HEAD" else method.lower())

    def check(self, response: httpx.Response) -> None:
        """Every status, header and body that an operation gives is one that the document describes."""
        operation = self.operation_of(response.request.method, response.request.url.path)
        if operation is None:
            return
        name, status = operation["operationId"], response.status_code
        assert str(status) in operation["responses"], f"{name} does not tell {status}: {response.text}"
        described = operation["responses"][str(status)]
        self.seen[name].add(status)
        assert "X-Request-Id" in response.headers
        content = described.get("content")
        if content is None:
            assert not response.content, f"{name} {status} has a body"
            return
        media_type = response.headers["Content-Type"].partition(";")[0]
        assert media_type in content, f"{name} {status} is {media_type}"
        if media_type != "application/json" or response.request.method == "HEAD":
            return
        found = self.problems(content[media_type]["schema"], response.json())
        assert not found, f"{name} {status}: {found}"
        if status >= 400 and "error" in response.json():
            codes = {example["value"]["error"] for example in content[media_type]["examples"].values()}
            assert response.json()["error"] in codes, f"{name} {status} does not tell {response.json()['error']}"


def closed(schema: Any) -> Any:
    """The schema with `additionalProperties: false` wherever it names fields and says nothing else."""
    schema = copy.deepcopy(schema)
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "properties" in node and node.get("type") == "object":
                node.setdefault("additionalProperties", False)
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return schema
