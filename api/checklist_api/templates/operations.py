"""OpenAPI operations of templates."""

from typing import Final

from checklist_composer.locales import LOCALES
from checklist_crds.errors import (
    GenerationFailed,
    ModelFailed,
    TemplateNotFound,
    TemplateNotRunnable,
    TemplateVersionNotFound,
    ValidationFailed,
    VersionConflict,
)
from checklist_crds.limits.organization_limits import LimitName, limit_reached
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.answer_schema import MEDIA_TYPE

from ..generation.models import NO_PROMPT, GeneratedTemplate, GenerateRequest
from ..http.examples import examples
from ..http.json_body import missing_fields
from ..http.operations import (
    BAD_PAGE,
    COUNTED_KEY_ERRORS,
    IDEMPOTENCY_KEY,
    PAGES,
    Access,
    Body,
    Operation,
    Reply,
    header,
    problem,
    query,
    tagged,
)
from ..http.pagination import invalid_parameter
from . import models

_TEMPLATES: Final = "Templates"
_STRICT: Final = query("strict", {"type": "boolean", "default": False}, "true: refuse unknown fields.")
_IF_MATCH: Final = header(
    "If-Match", {"type": "string"}, "Expected version in quotes; the request is refused for another one.", '"1"'
)
_BAD_STRICT: Final = invalid_parameter("strict", "must be true or false")
_BAD_TDL: Final = ValidationFailed(
    "The template is not valid.",
    details=[
        problem("id", "read_only", "The service assigns this field; it must not be sent."),
        problem("sections[0].steps[1].condition.when.step", "invalid_reference", "There is no earlier step s-fridge."),
    ],
)
_MISSING_SECTIONS: Final = missing_fields(["sections"])
_TOO_MANY: Final = limit_reached(LimitName.TEMPLATES, limit=1_000, used=1_000)
_TOO_LARGE: Final = limit_reached(LimitName.TEMPLATE_BYTES, limit=67_108_864, used=67_105_211)
_LOCALE: Final = query(
    "locale",
    {"type": "string", "enum": list(LOCALES)},
    "Default language, if the prompt does not determine it. The prompt's words are never translated.",
    "en",
)
_EXPLAIN: Final = query(
    "explain",
    {"type": "boolean", "default": False},
    "true: return the template and, for each step, its source in the prompt.",
)
_BAD_LOCALE: Final = invalid_parameter("locale", f"must be one of {', '.join(LOCALES)}")
GENERATE_TEMPLATE: Final = Operation(
    "post /v1/templates/generate",
    "generateTemplate",
    "Generate a template from a prompt",
    Reply(
        200,
        "A TDL object that POST /v1/templates accepts unchanged. It is not stored. With `explain=true` it is in "
        "`template`, with the sources of its steps.",
        GeneratedTemplate,
        {"kitchen": examples.TDL, "explained": examples.EXPLAINED},
        {"X-Generated-By": "composer"},
    ),
    "The built-in composer generates it without external services; the same prompt gives the same template. If the "
    "service is configured with a language model, the model generates it, with the composer as a fallback. Neither "
    "prompt nor template is stored or logged.",
    parameters=(_LOCALE, _EXPLAIN),
    body=Body(GenerateRequest, examples.PROMPTS),
    errors=(
        missing_fields(["prompt"]),
        ValidationFailed(
            NO_PROMPT,
            details=[problem("prompt", "invalid_text", NO_PROMPT)],
        ),
        _BAD_LOCALE,
        GenerationFailed(
            "The text asks for no checklist. Say what the checklist is for, or list what is to be checked."
        ),
        GenerationFailed(
            "The library has no checklist for this job. List what is to be checked, or name another job.",
            details=[problem("prompt", "closest_job", "Forklift pre-use check")],
        ),
        ModelFailed(details=[problem("", "model_timeout", "The model timed out.")]),
    ),
)
TEMPLATE_OPERATIONS: Final = tagged(
    _TEMPLATES,
    Access.KEY,
    Operation(
        "post /v1/templates",
        "createTemplate",
        "Create a template",
        Reply(
            201,
            "Created, with version 1.",
            models.Template,
            {"created": examples.TEMPLATE},
            {"ETag": '"1"', "Location": f"/v1/templates/{examples.TEMPLATE_ID}", "Idempotency-Replayed": "true"},
        ),
        "The service assigns `id`, `v` and `org_id`; they must not be sent. Absent fields get their defaults.",
        parameters=(_STRICT, IDEMPOTENCY_KEY),
        body=Body(Definition, {"kitchen": examples.TEMPLATE_REQUEST}),
        errors=(_MISSING_SECTIONS, _BAD_STRICT, _BAD_TDL, _TOO_MANY, *COUNTED_KEY_ERRORS),
    ),
    Operation(
        "get /v1/templates",
        "listTemplates",
        "List templates",
        Reply(
            200,
            "One page, newest first.",
            models.TemplateList,
            {"one template": {"data": [examples.TEMPLATE_SUMMARY], "pagination": examples.PAGINATION}},
        ),
        parameters=PAGES,
        errors=(BAD_PAGE,),
    ),
    Operation(
        "get /v1/templates/{template_id}",
        "getTemplate",
        "Read a template",
        Reply(200, "The complete TDL object.", models.Template, {"kitchen": examples.TEMPLATE}, {"ETag": '"1"'}),
        errors=(TemplateNotFound(),),
    ),
    Operation(
        "patch /v1/templates/{template_id}",
        "patchTemplate",
        "Change a template",
        Reply(
            200,
            "The complete TDL object with its new version.",
            models.Template,
            {"renamed": examples.PATCHED_TEMPLATE},
            {"ETag": '"2"'},
        ),
        "A merge patch (RFC 7396): only included fields change, null restores a default, `settings` and `execution` "
        "are merged, arrays are replaced. Every accepted patch, even an empty one, increments `v`. Dispatched runs "
        "keep their snapshot.",
        parameters=(_STRICT, _IF_MATCH),
        body=Body(Definition, {"rename": examples.PATCH_REQUEST}, partial=True),
        errors=(TemplateNotFound(), _BAD_STRICT, _BAD_TDL, _TOO_LARGE, VersionConflict()),
    ),
    Operation(
        "delete /v1/templates/{template_id}",
        "deleteTemplate",
        "Delete a template",
        Reply(204, "Deleted. Dispatched runs keep their snapshot."),
        errors=(TemplateNotFound(),),
    ),
    Operation(
        "get /v1/templates/{template_id}/versions",
        "listTemplateVersions",
        "List versions of a template",
        Reply(
            200,
            "The current version and kept earlier ones, newest first.",
            models.TemplateVersionList,
            {"one version": {"data": [examples.TEMPLATE_VERSION], "pagination": examples.PAGINATION}},
        ),
        "The newest 50 versions are kept, and all versions that runs use.",
        parameters=PAGES,
        errors=(TemplateNotFound(), BAD_PAGE),
    ),
    Operation(
        "get /v1/templates/{template_id}/versions/{version}",
        "getTemplateVersion",
        "Read a version of a template",
        Reply(
            200,
            "The complete TDL object of that version; `updated_at` is its time.",
            models.Template,
            {"kitchen": examples.TEMPLATE},
            {"ETag": '"1"'},
        ),
        errors=(TemplateNotFound(), TemplateVersionNotFound()),
    ),
    Operation(
        "get /v1/templates/{template_id}/answer-schema",
        "getTemplateAnswerSchema",
        "Read the schema of a template's answers",
        Reply(
            200,
            "A JSON Schema (2020-12) of `answers` of the template's completed runs.",
            examples={"kitchen": examples.ANSWER_SCHEMA},
            headers={"ETag": '"1"'},
            media_type=MEDIA_TYPE,
        ),
        "The answers of every completed run of that version are valid against it. It covers types, options, bounds and "
        "the conditions of steps. Where JSON Schema cannot express a rule exactly, the schema accepts more than the "
        "service. It contains no references.",
        parameters=(
            query("version", {"type": "integer", "minimum": 1}, "An earlier stored version. Default: the current one."),
        ),
        errors=(
            TemplateNotFound(),
            TemplateVersionNotFound(),
            invalid_parameter("version", "must be an integer from 1"),
            TemplateNotRunnable(details=[problem("sections[0].steps[0].type", "unknown_value", "Must be one of ...")]),
        ),
    ),
    GENERATE_TEMPLATE,
)
