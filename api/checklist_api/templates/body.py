"""Parses templates of requests, reporting all problems together."""

from collections.abc import Mapping
from typing import Any

from checklist_crds.errors import Problem, ValidationFailed
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition


def parse_with(document: Mapping[str, Any], problems: list[Problem], *, strict: bool) -> Definition:
    """Parse the definition; its problems are raised together with `problems`."""
    try:
        definition = parse_definition(document, strict=strict)
    except ValidationFailed as error:
        found = error.details if isinstance(error.details, list) else []
        raise ValidationFailed("The template is not valid.", details=[*problems, *found]) from None
    if problems:
        raise ValidationFailed("The template is not valid.", details=problems)
    return definition
