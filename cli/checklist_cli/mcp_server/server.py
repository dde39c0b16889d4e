"""The protocol: lists the tools, validates arguments, runs tools, and turns failures into tool errors."""

import json
import logging
from importlib.metadata import version
from typing import Any, Final

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as Listed
from pydantic import ValidationError

from ..client.template_text import escaped
from .results import UNTRUSTED
from .service import UNEXPECTED, Service, ToolFailed
from .tools import Tool, tools

log = logging.getLogger(__name__)

INVALID_ARGUMENTS: Final = "invalid_arguments"
_INSTRUCTIONS: Final = (
    "Checklist Dispatch sends a checklist to a person and returns their answers. Find or make a template "
    "(list_templates, generate_template, save_template), dispatch_run, wait_for_run until it has ended, then "
    f"get_answers. {UNTRUSTED}"
)
_Context = ServerRequestContext[Any]


async def serve(service: Service, *, with_link: bool) -> None:
    """Serve one client over standard input and output, until it closes standard input."""
    server = server_of(service, with_link=with_link)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def server_of(service: Service, *, with_link: bool) -> Server[Any]:
    offered = {tool.name: tool for tool in tools(with_link=with_link)}
    listed = [_listed(tool) for tool in offered.values()]

    async def list_tools(_: _Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: _Context, params: CallToolRequestParams) -> CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        try:
            return await _call(tool, service, params.arguments or {}, context)
        except ToolFailed as failure:
            log.warning("%s: %s", tool.name, failure.code)
            return _error(failure.code, failure.message)

    return Server(
        "checklist-dispatch",
        version=version("checklist-dispatch"),
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(tool: Tool[Any], service: Service, given: dict[str, Any], context: _Context) -> CallToolResult:
    """Raises ToolFailed."""
    try:
        arguments = tool.arguments.model_validate(given)
    except ValidationError as invalid:
        raise ToolFailed(INVALID_ARGUMENTS, _problems(invalid)) from None
    try:
        called = await tool.run(service, arguments, context.session.report_progress)
    except (ValidationError, KeyError, TypeError, AttributeError) as unexpected:
        log.error("%s: unexpected answer of the service: %s", tool.name, type(unexpected).__name__)
        raise ToolFailed(UNEXPECTED, "the service answers with an unexpected body; check --server") from None
    document = called.result.model_dump(mode="json")
    texts = [*([called.text] if called.text else []), as_text(document)]
    return CallToolResult(content=[TextContent(text=text) for text in texts], structured_content=document)


def as_text(document: dict[str, Any]) -> str:
    """JSON in which control and invisible characters are escaped: they could hide text from the people who check it."""
    return "".join(escaped(character) for character in json.dumps(document, ensure_ascii=False))


def _listed(tool: Tool[Any]) -> Listed:
    return Listed(
        name=tool.name,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_idempotent or tool.is_read_only,
            open_world_hint=True,
        ),
    )


def _error(code: str, message: str) -> CallToolResult:
    error = {"error": code, "message": message}
    return CallToolResult(content=[TextContent(text=f"{code}: {message}")], structured_content=error, is_error=True)


def _problems(invalid: ValidationError) -> str:
    """Path and message of each problem, without the given values."""
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in invalid.errors())
