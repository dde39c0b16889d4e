"""Examples of the OpenAPI document, read from `examples.yaml`. Contract tests validate each against its schema."""

from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Final

import yaml

from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.answer_schema import answer_schema

Json = dict[str, Any]


def _read() -> SimpleNamespace:
    text = files(__package__).joinpath("examples.yaml").read_text("utf-8")
    found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    schema = answer_schema(Definition.model_validate(found["TEMPLATE_REQUEST"]))
    return SimpleNamespace(**found, ANSWER_SCHEMA=schema)


examples: Final = _read()
