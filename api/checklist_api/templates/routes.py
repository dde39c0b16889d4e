"""Routes of templates (specification, "Templates"; contract section 2)."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from aiohttp import web
from attrs import define

from checklist_composer.explanation import explanation
from checklist_composer.locales import LOCALES
from checklist_crds.errors import Problem, TemplateNotRunnable, ValidationFailed
from checklist_crds.templates import answer_schema
from checklist_crds.templates.validation import definition_problems, parse_definition
from checklist_crds.times import format_timestamp

from ..audit.trail import AuditTrail
from ..auth.gate import Caller, Gate
from ..generation.generator import Generator
from ..generation.models import GenerateRequest
from ..http.json_body import JSON, json_response, missing_fields, read_json_object
from ..http.pagination import invalid_parameter, one_of, parameter, positive_integer, requested_page
from ..idempotency import REPEATED, Idempotency, requested_key
from ..organizations.directory import Organization
from .body import parse_with
from .catalogue import ListedTemplate, StoredTemplate, TemplateCatalogue
from .models import TemplateSummary, TemplateVersion, TemplateVersionList
from .versions import TemplateVersions
from .writes import ASSIGNED_ON_CREATE, TemplateWriter

_MERGE_PATCH: Final = "application/merge-patch+json"
_ENTITY_TAGS: Final = re.compile(r'\s*(?:W/)?"[^"]*"\s*(?:,\s*(?:W/)?"[^"]*"\s*)*')
_OWN_TAG: Final = re.compile(r'(?<!W/)"([1-9][0-9]{0,17})"')


@define(kw_only=True, eq=False, repr=False, slots=False)
class TemplateRoutes:
    _catalogue: TemplateCatalogue
    _writer: TemplateWriter
    _versions: TemplateVersions
    _generator: Generator
    _idempotency: Idempotency
    _audit: AuditTrail
    _path_prefix: str

    def add_to(self, router: web.UrlDispatcher, gate: Gate) -> None:
        owner = gate.owner
        router.add_post("/v1/templates", owner(self.create))
        router.add_get("/v1/templates", owner(self.list))
        router.add_post("/v1/templates/generate", owner(self.generate))
        router.add_get("/v1/templates/{template_id}", owner(self.get))
        router.add_patch("/v1/templates/{template_id}", owner(self.patch))
        router.add_delete("/v1/templates/{template_id}", owner(self.delete))
        router.add_get("/v1/templates/{template_id}/answer-schema", owner(self.answer_schema))
        router.add_get("/v1/templates/{template_id}/versions", owner(self.versions))
        router.add_get("/v1/templates/{template_id}/versions/{version}", owner(self.version))

    def view(self, template: StoredTemplate, organization: Organization) -> dict[str, Any]:
        """Render a template."""
        return _view(template, organization, template.meta.version, template.tdl(), template.meta.updated_at)

    def summary(self, template: ListedTemplate) -> dict[str, Any]:
        """Render a template in a list."""
        return TemplateSummary.of(template).model_dump()

    def answer(
        self,
        template: StoredTemplate,
        organization: Organization,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> web.Response:
        headers = {"ETag": f'"{template.meta.version}"', **(headers or {})}
        return json_response(self.view(template, organization), status=status, headers=headers)

    async def create(self, request: web.Request, caller: Caller) -> web.Response:
        body = await read_json_object(request)
        strict, key = _is_strict(request), requested_key(request)
        problems = [
            Problem(name, "read_only", "The service assigns this field; it must not be sent.")
            for name in ASSIGNED_ON_CREATE
            if name in body
        ]
        written = {name: value for name, value in body.items() if name not in ASSIGNED_ON_CREATE}
        _require_whole(written, problems, strict=strict)
        definition = parse_with(written, problems, strict=strict)
        with self._idempotency.claim(key, caller.organization.name, "t", body) as claim:
            async with self._audit.act(request, caller) as act:
                created = await self._writer.create(caller.organization, definition, claim, act)
        location = f"{self._path_prefix}/v1/templates/{created.template.meta.id}"
        headers = {"Location": location, **(REPEATED if created.repeated else {})}
        return self.answer(created.template, caller.organization, status=201, headers=headers)

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page = requested_page(request)
        templates = await self._catalogue.all_of(caller.organization)
        shown = page.cut(templates)
        return json_response(
            {"data": [self.summary(template) for template in shown], "pagination": page.view(len(templates))}
        )

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        template = await self._catalogue.get(caller.organization, request.match_info["template_id"])
        return self.answer(template, caller.organization)

    async def patch(self, request: web.Request, caller: Caller) -> web.Response:
        patch = await read_json_object(request, media_types=(JSON, _MERGE_PATCH))
        versions, strict = requested_versions(request), _is_strict(request)
        template_id = request.match_info["template_id"]
        async with self._audit.act(request, caller) as act:
            template = await self._writer.patch(
                caller.organization, template_id, patch, versions=versions, strict=strict, act=act
            )
        return self.answer(template, caller.organization)

    async def delete(self, request: web.Request, caller: Caller) -> web.Response:
        template_id = request.match_info["template_id"]
        async with self._audit.act(request, caller) as act:
            await self._writer.delete(caller.organization, template_id, act)
        return web.Response(status=204)

    async def versions(self, request: web.Request, caller: Caller) -> web.Response:
        """Return the current version and kept earlier ones."""
        page, organization = requested_page(request), caller.organization
        template = await self._catalogue.get(organization, request.match_info["template_id"])
        versions = await self._versions.all_of(template, organization)
        shown = [TemplateVersion.of(version) for version in page.cut(versions)]
        return json_response(TemplateVersionList(data=shown, pagination=page.of(len(versions))))

    async def version(self, request: web.Request, caller: Caller) -> web.Response:
        """Return a version of the template."""
        organization = caller.organization
        template = await self._catalogue.get(organization, request.match_info["template_id"])
        version = await self._versions.get(template, organization, request.match_info["version"])
        shown = _view(template, organization, version.number, version.tdl(), version.made_at)
        return json_response(shown, headers={"ETag": f'"{version.number}"'})

    async def answer_schema(self, request: web.Request, caller: Caller) -> web.Response:
        """Return the JSON Schema of the answers of completed runs of a template version."""
        number, organization = positive_integer(request, "version"), caller.organization
        template = await self._catalogue.get(organization, request.match_info["template_id"])
        wanted = template.meta.version if number is None else number
        version = await self._versions.get(template, organization, str(wanted))
        try:
            definition = parse_definition(version.definition)
        except ValidationFailed as error:
            raise TemplateNotRunnable(details=error.details) from None
        return json_response(
            answer_schema.answer_schema(definition),
            headers={"ETag": f'"{version.number}"'},
            media_type=answer_schema.MEDIA_TYPE,
        )

    async def generate(self, request: web.Request, caller: Caller) -> web.Response:
        """Generate a definition that create accepts unchanged; it is not stored."""
        # `Accept-Language` describes the calling program, not the author of the prompt.
        body, locale = await read_json_object(request), one_of(request, "locale", LOCALES)
        explain = one_of(request, "explain", ("true", "false")) == "true"
        wanted = GenerateRequest.read(body)
        made = await self._generator.generate(wanted.text, locale, caller.organization.name)
        answer = made.definition.to_tdl()
        if explain:
            answer = explanation(made.definition, made.sources, made.unused, wanted.text, before=wanted.before)
        return json_response(answer, headers={"X-Generated-By": made.generated_by})


def _require_whole(written: Mapping[str, Any], problems: Sequence[Problem], *, strict: bool) -> None:
    """Raises MissingField with all other problems."""
    missing = [name for name in ("name", "sections") if name not in written]
    if missing:
        others = [each for each in definition_problems(written, strict=strict) if each.path not in missing]
        raise missing_fields(missing, [*problems, *others])


def _is_strict(request: web.Request) -> bool:
    text = parameter(request, "strict")
    if text not in (None, "true", "false"):
        raise invalid_parameter("strict", "must be true or false")
    return text == "true"


def requested_versions(request: web.Request) -> frozenset[int] | None:
    """Parse If-Match (RFC 9110 section 13.1.1, strong comparison); None accepts any. Raises InvalidParameter."""
    text = ", ".join(request.headers.getall("If-Match", []))
    if not text or text.strip() == "*":
        return None
    if not _ENTITY_TAGS.fullmatch(text):
        raise invalid_parameter("If-Match", 'must be like "3", with the quotes')
    return frozenset(int(version) for version in _OWN_TAG.findall(text))


def _view(
    template: StoredTemplate, organization: Organization, version: int, tdl: Mapping[str, Any], made_at: datetime
) -> dict[str, Any]:
    """Render the complete TDL object (specification, "Template") of `version`."""
    return {
        "id": template.meta.id,
        "v": version,
        "org_id": organization.id,
        **tdl,
        "created_at": format_timestamp(template.meta.created_at),
        "updated_at": format_timestamp(made_at),
    }
