"""/v1/templates (specification, "Templates"; contract section 2)."""

import re
from typing import Any, Final

from aiohttp import web

from checklist_crds.errors import NotImplementedYet, Problem, ValidationFailed
from checklist_crds.kube.kinds import TEMPLATE_REVISION
from checklist_crds.times import format_timestamp, parse_timestamp

from .auth import Caller
from .idempotency import REPLAYED, requested_key
from .organizations import Organization
from .pagination import invalid_parameter, parameter, requested_page
from .request_body import JSON, read_json_object, require_members
from .responses import json_response
from .services import Services
from .template_catalogue import StoredTemplate
from .template_view import template_summary, template_view
from .template_writes import ASSIGNED_ON_CREATE, parse_with

PROMPT_LENGTHS: Final = (4, 4_000)
_MERGE_PATCH: Final = "application/merge-patch+json"
_ENTITY_TAGS: Final = re.compile(r'\s*(?:W/)?"[^"]*"\s*(?:,\s*(?:W/)?"[^"]*"\s*)*')
_OWN_TAG: Final = re.compile(r'(?<!W/)"([1-9][0-9]{0,17})"')


def add_routes(router: web.UrlDispatcher, services: Services) -> None:
    routes, owner = TemplateRoutes(services), services.gate.owner
    router.add_post("/v1/templates", owner(routes.create))
    router.add_get("/v1/templates", owner(routes.list))
    router.add_post("/v1/templates/generate", owner(routes.generate))
    router.add_get("/v1/templates/{template_id}", owner(routes.get))
    router.add_patch("/v1/templates/{template_id}", owner(routes.patch))
    router.add_delete("/v1/templates/{template_id}", owner(routes.delete))
    router.add_get("/v1/templates/{template_id}/versions", owner(routes.versions))


class TemplateRoutes:
    """One method for each operation."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def create(self, request: web.Request, caller: Caller) -> web.Response:
        body = await read_json_object(request)
        strict, key = _is_strict(request), requested_key(request)
        require_members(body, "name", "sections")
        problems = [
            Problem(name, "read_only", "The service assigns this field; it must not be sent.")
            for name in ASSIGNED_ON_CREATE
            if name in body
        ]
        definition = parse_with(
            {name: value for name, value in body.items() if name not in ASSIGNED_ON_CREATE}, problems, strict=strict
        )
        with self._services.idempotency.claim(key, caller.organization.name, "t", body) as claim:
            created = await self._services.template_writer.create(caller.organization, definition, claim)
        location = f"{self._services.settings.path_prefix}/v1/templates/{created.template.meta.id}"
        headers = {"Location": location, **(REPLAYED if created.replayed else {})}
        return _answer(created.template, caller.organization, status=201, headers=headers)

    async def list(self, request: web.Request, caller: Caller) -> web.Response:
        page = requested_page(request)
        templates = await self._services.templates.all_of(caller.organization)
        shown = templates[page.offset : page.offset + page.per_page]
        return json_response(
            {"data": [template_summary(template) for template in shown], "pagination": page.view(len(templates))}
        )

    async def get(self, request: web.Request, caller: Caller) -> web.Response:
        template = await self._services.templates.get(caller.organization, request.match_info["template_id"])
        return _answer(template, caller.organization)

    async def patch(self, request: web.Request, caller: Caller) -> web.Response:
        patch = await read_json_object(request, media_types=(JSON, _MERGE_PATCH))
        template = await self._services.template_writer.patch(
            caller.organization,
            request.match_info["template_id"],
            patch,
            versions=_if_match(request),
            strict=_is_strict(request),
        )
        return _answer(template, caller.organization)

    async def delete(self, request: web.Request, caller: Caller) -> web.Response:
        await self._services.template_writer.delete(caller.organization, request.match_info["template_id"])
        return web.Response(status=204)

    async def versions(self, request: web.Request, caller: Caller) -> web.Response:
        """The version that is current, and those that were dispatched: only they are kept."""
        page = requested_page(request)
        organization = caller.organization
        template = await self._services.templates.get(organization, request.match_info["template_id"])
        found = {template.meta.version: _current_version(template)}
        for namespace in organization.namespaces:
            revisions, _ = await self._services.client.list_all(
                TEMPLATE_REVISION, namespace, field_selector=f"spec.templateId={template.meta.id}"
            )
            for revision in revisions:
                spec = revision["spec"]
                if spec["organizationRef"]["name"] == organization.name and spec["version"] < template.meta.version:
                    found.setdefault(spec["version"], _kept_version(revision))
        newest_first = [found[version] for version in sorted(found, reverse=True)]
        shown = newest_first[page.offset : page.offset + page.per_page]
        return json_response({"data": shown, "pagination": page.view(len(newest_first))})

    async def generate(self, request: web.Request, caller: Caller) -> web.Response:
        """Checks the prompt; making a template of it is not part of this release."""
        body = await read_json_object(request)
        require_members(body, "prompt")
        prompt, (shortest, longest) = body["prompt"], PROMPT_LENGTHS
        if not isinstance(prompt, str) or not shortest <= len(prompt.strip()) <= longest:
            text = f"The prompt must be text of {shortest} to {longest} characters."
            raise ValidationFailed(text, details=[Problem("prompt", "invalid_text", text)])
        raise NotImplementedYet("Generating templates is not part of this release.")


def _answer(
    template: StoredTemplate, organization: Organization, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    headers = {"ETag": f'"{template.meta.version}"', **(headers or {})}
    return json_response(template_view(template, organization), status=status, headers=headers)


def _is_strict(request: web.Request) -> bool:
    text = parameter(request, "strict")
    if text not in (None, "true", "false"):
        raise invalid_parameter("strict", "must be true or false")
    return text == "true"


def _if_match(request: web.Request) -> frozenset[int] | None:
    """The versions of If-Match (RFC 9110, section 13.1.1: strong comparison); None is any. Raises InvalidParameter."""
    text = ", ".join(request.headers.getall("If-Match", []))
    if not text or text.strip() == "*":
        return None
    if not _ENTITY_TAGS.fullmatch(text):
        raise invalid_parameter("If-Match", 'must be like "3", with the quotes')
    return frozenset(int(version) for version in _OWN_TAG.findall(text))


def _current_version(template: StoredTemplate) -> dict[str, Any]:
    spec = template.body["spec"]
    return {
        "v": template.meta.version,
        "name": spec.get("name", ""),
        "step_count": _step_count(spec),
        "created_at": format_timestamp(template.meta.updated_at),
        "current": True,
    }


def _kept_version(revision: dict[str, Any]) -> dict[str, Any]:
    definition = revision["spec"]["definition"]
    return {
        "v": revision["spec"]["version"],
        "name": definition.get("name", ""),
        "step_count": _step_count(definition),
        "created_at": format_timestamp(parse_timestamp(revision["metadata"]["creationTimestamp"])),
        "current": False,
    }


def _step_count(definition: dict[str, Any]) -> int:
    return sum(len(section.get("steps") or []) for section in definition.get("sections") or [])
