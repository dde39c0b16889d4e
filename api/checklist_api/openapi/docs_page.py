"""/docs: the OpenAPI document as a page, rendered on the server, without scripts and external resources."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import Any, Final

from aiohttp import web

from ..pages.markup import anchor, inline, page, page_response, paragraphs
from .docs_schema import fields_table, row, table, type_html
from .document import openapi_document

Document = Mapping[str, Any]

_SCHEMES: Final = {"bearerKey": "API key", "executorToken": "Executor token", "memberSession": "Member's session"}


def add_routes(router: web.UrlDispatcher, base_url: str) -> None:
    async def docs(_: web.Request) -> web.Response:
        return page_response(await asyncio.to_thread(_rendered, base_url), cache="no-cache")

    router.add_get("/docs", docs)


@lru_cache(maxsize=1)
def _rendered(base_url: str) -> str:
    """Rendered at the first request, since it takes some 50 ms."""
    return docs_html(openapi_document(base_url))


def docs_html(document: Document) -> str:
    body = f"""<a class="skip" href="#top">Skip to the content</a>
<nav aria-label="Contents">
<details class="contents"><summary>Contents</summary>{_contents(document)}</details>
</nav>
<main id="top">
<h1>{escape(document["info"]["title"])}</h1>
{paragraphs(document["info"]["description"])}
<p>Version {escape(document["info"]["version"])} at <code>{escape(document["servers"][0]["url"])}</code>.
Machine-readable: <a href="v1/openapi.json">openapi.json</a>.</p>
{_authentication(document)}
{"".join(_tag(document, tag) for tag in document["tags"])}
{_events(document)}
{_schemas(document)}
</main>"""
    return page(f"{document['info']['title']}: documentation", body, root="", kind="docs")


def _operations(document: Document, tag: str) -> Iterator[tuple[str, str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield method, path, operation


def _contents(document: Document) -> str:
    parts = ['<ul><li><a href="#authentication">Authentication</a></li>']
    for tag in document["tags"]:
        name = tag["name"]
        links = "".join(
            f'<li><a href="#{operation["operationId"]}">{escape(operation["summary"])}</a></li>'
            for _, _, operation in _operations(document, name)
        )
        parts.append(f'<li><a href="#{anchor("tag", name)}">{escape(name)}</a><ul>{links}</ul></li>')
    events = "".join(f'<li><a href="#{anchor("event", name)}">{escape(name)}</a></li>' for name in document["webhooks"])
    parts.append(f'<li><a href="#events">Events</a><ul>{events}</ul></li><li><a href="#schemas">Schemas</a></li></ul>')
    return "".join(parts)


def _authentication(document: Document) -> str:
    rows = "".join(
        f"<dt>{escape(_SCHEMES[name])}</dt><dd>{inline(scheme['description'])}</dd>"
        for name, scheme in document["components"]["securitySchemes"].items()
    )
    return f'<section id="authentication"><h2>Authentication</h2><dl>{rows}</dl></section>'


def _tag(document: Document, tag: Document) -> str:
    operations = "".join(_operation(document, *entry) for entry in _operations(document, tag["name"]))
    return (
        f'<section id="{anchor("tag", tag["name"])}"><h2>{escape(tag["name"])}</h2>'
        f"<p>{inline(tag['description'])}</p>{operations}</section>"
    )


def _operation(document: Document, method: str, path: str, operation: Document) -> str:
    needs = (" and ".join(_SCHEMES[name] for name in need) for need in operation["security"])
    access = escape(", or ".join(needs), quote=False) or "no credentials"
    body = operation.get("requestBody")
    return f"""<article id="{operation["operationId"]}">
<h3><a href="#{operation["operationId"]}">{escape(operation["summary"])}</a></h3>
<p class="call"><b class="method {method}">{method.upper()}</b> <code>{_breakable(path)}</code>
<span>{access}</span></p>
{paragraphs(operation.get("description", ""))}
{_parameters(document, operation.get("parameters", ()))}
{_request(body) if body else ""}
{"".join(_response(status, response) for status, response in sorted(operation["responses"].items()))}
</article>"""


def _parameters(document: Document, parameters: Any) -> str:
    rows = ""
    shared = document["components"]["parameters"]
    for entry in parameters:
        parameter = shared[entry["$ref"].rpartition("/")[2]] if "$ref" in entry else entry
        rows += row(
            parameter["name"],
            parameter["schema"],
            parameter.get("description", ""),
            required=parameter["required"],
            note=f"in the {parameter['in']}",
        )
    return table("Parameters", rows)


def _request(body: Document) -> str:
    media_type, content = next(iter(body["content"].items()))
    need = "" if body["required"] else ", optional"
    return (
        f"<h4>Request body</h4><p>{type_html(content['schema'])} as <code>{escape(media_type)}</code>{need}</p>"
        + _examples(content)
    )


def _response(status: str, response: Document) -> str:
    content = response.get("content", {})
    media_type, shown = next(iter(content.items())) if content else ("", {})
    kind = type_html(shown["schema"]) if "$ref" in shown.get("schema", {}) else escape(media_type)
    headers = [name for name in response.get("headers", {}) if name != "X-Request-Id"]
    extra = f"<p>Headers: {', '.join(f'<code>{escape(name)}</code>' for name in headers)}</p>" if headers else ""
    is_error = status >= "400"
    return (
        f'<details class="answer"{"" if is_error else " open"}><summary><b class="status s{status[0]}">{status}</b> '
        f"{inline(response['description'])} <span>{kind}</span></summary>{extra}{_examples(shown)}</details>"
    )


def _examples(content: Document) -> str:
    return "".join(
        f"<figure><figcaption>Example: {escape(example['summary'])}</figcaption>"
        f'<pre tabindex="0"><code>{_json(example["value"])}</code></pre></figure>'
        for example in content.get("examples", {}).values()
    )


def _events(document: Document) -> str:
    articles = ""
    for name, webhook in document["webhooks"].items():
        operation = webhook["post"]
        content = operation["requestBody"]["content"]["application/json"]
        articles += (
            f'<article id="{anchor("event", name)}"><h3><a href="#{anchor("event", name)}">{escape(name)}</a></h3>'
            f"{paragraphs(operation['description'])}<p>{type_html(content['schema'])}</p>{_examples(content)}</article>"
        )
    header_rows = "".join(
        f"<dt><code>{escape(parameter['name'])}</code></dt><dd>{escape(parameter['description'])}</dd>"
        for parameter in next(iter(document["webhooks"].values()))["post"]["parameters"]
    )
    return f"""<section id="events"><h2>Events</h2>
<p>Each event is a POST to the URL of the run's webhook. A 2xx response within 10 seconds is a delivery; otherwise the
event is sent again, up to five attempts. Deduplicate on <code>event_id</code>. Each attempt is signed:</p>
<dl>{header_rows}</dl>{articles}</section>"""


def _schemas(document: Document) -> str:
    parts = []
    for name, schema in document["components"]["schemas"].items():
        if name == "JsonValue":
            continue
        description = f"<p>{inline(schema['description'])}</p>" if "description" in schema else ""
        shape = fields_table(schema, f"Fields of {name}") if "properties" in schema else f"<p>{type_html(schema)}</p>"
        parts.append(
            f'<article id="{anchor("schema", name)}"><h3><a href="#{anchor("schema", name)}">{escape(name)}</a></h3>'
            f"{description}{shape}</article>"
        )
    return f'<section id="schemas"><h2>Schemas</h2>{"".join(parts)}</section>'


def _breakable(path: str) -> str:
    return escape(path).replace("/", "/<wbr>")


def _json(value: Any) -> str:
    return escape(json.dumps(value, indent=2, ensure_ascii=False))
