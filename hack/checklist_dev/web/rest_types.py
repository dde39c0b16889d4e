"""Generates `api/web/core/rest.ts`: the schemas of the OpenAPI document as TypeScript types, without its paths."""

import json
import tempfile
from pathlib import Path
from typing import Any

from checklist_api.openapi.document import openapi_document
from checklist_dev.failures import Failure
from checklist_dev.web.build import Workspace

TARGET = Path("core") / "rest.ts"
_HEAD = """\
// Generated from the OpenAPI document by `make rest-types`; `make check` says when it is out of date. Do not edit.

"""


def generate(workspace: Workspace) -> str:
    """The text of the file. Raises Failure if the generator rejects the document."""
    document = openapi_document("https://checklists.example")
    shapes: dict[str, Any] = {
        "openapi": document["openapi"],
        "info": {"title": document["info"]["title"], "version": document["info"]["version"]},
        "paths": {},
        "components": {"schemas": document["components"]["schemas"]},
    }
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "openapi.json", Path(folder) / "rest.ts"
        given.write_text(json.dumps(shapes))
        workspace.ensure_packages()
        # Fields with a default are always present in responses and optional in requests; the document has a schema
        # for each (`Definition`, `DefinitionInput`).
        options = ("--root-types", "--root-types-no-schema-prefix", "--default-non-nullable", "false")
        what = "the types of the REST contract could not be generated"
        workspace.run("openapi-typescript/bin/cli.js", str(given), "--output", str(made), *options, what=what)
        return _HEAD + made.read_text()


def write(workspace: Workspace) -> Path:
    path = workspace.sources / TARGET
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(generate(workspace))
    return path


def check(workspace: Workspace) -> None:
    """Raise Failure if the file is out of date."""
    path = workspace.sources / TARGET
    if not path.exists() or path.read_text() != generate(workspace):
        raise Failure(f"{path} is out of date: run `make rest-types`")
