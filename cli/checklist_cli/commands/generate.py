"""`checklist-dispatch generate`: generates a template from a prompt, with the built-in composer or a service."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checklist_crds.errors import ValidationFailed
from checklist_crds.resources.template_definition import Definition
from checklist_crds.templates.validation import parse_definition

from ..client import template_text
from ..client.api_key import KEY_VARIABLE, read_api_key
from ..client.template_text import table
from ..console.command import Command, CommandFailed, ExitStatus
from ..console.terminal import plain

LOCALES: Final = ("en", "de", "es", "fr")
_LENGTHS: Final = (4, 4_000)
"""Characters of a prompt (contract section 2)."""
_TIMEOUT_S: Final = 310.0
"""A little more than a service's limit for its language model."""
_MAX_PRINTED: Final = 500


class _NoTemplate(Exception):
    """No template can be generated from the prompt: the reason, and similar jobs of the library."""

    def __init__(self, why: str, jobs: Iterable[str] = ()) -> None:
        named = ", ".join(_printable(job) for job in jobs)
        super().__init__(f"{why} Closest in the library: {named}" if named else why)


@dataclass(frozen=True, slots=True)
class _Generated:
    definition: Definition
    explained: str = ""
    """The explanation as a table, if requested."""


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", help="description of the checklist in plain language; - reads standard input")
    parser.add_argument("--locale", choices=LOCALES, help="language, if the prompt does not determine it")
    parser.add_argument(
        "--format",
        choices=("tdl", "manifest", "yaml"),
        default="tdl",
        help="tdl: JSON for the API (default); manifest: a Template for kubectl; yaml: the TDL as YAML",
    )
    parser.add_argument(
        "--explain", action="store_true", help="print to standard error which words of the prompt became which step"
    )
    manifest = parser.add_argument_group("options of a manifest")
    manifest.add_argument("--name", help="metadata.name (default: derived from the template's name)")
    manifest.add_argument("--namespace", help="metadata.namespace (default: left to kubectl)")
    manifest.add_argument("--organization", help="name of the Organization (required)")
    service = parser.add_argument_group("generate with a service and its language model")
    service.add_argument("--server", metavar="URL", help="base URL of the service (default: generate locally)")
    keys = service.add_mutually_exclusive_group()
    keys.add_argument("--key-file", type=Path, metavar="FILE", help=f"file with the API key (default: ${KEY_VARIABLE})")
    keys.add_argument("--key", help="the API key itself, which other users of the machine can see")


def _run(options: Namespace) -> ExitStatus:
    _check_options(options)
    prompt = _prompt(options.prompt)
    try:
        made = _by_service(options, prompt) if options.server else _composed(options, prompt)
    except _NoTemplate as nothing:
        print(f"checklist-dispatch generate: {nothing}", file=sys.stderr)
        return ExitStatus.NO
    if made.explained:
        print(made.explained, file=sys.stderr)
    print(_text_of(options)(made.definition).rstrip("\n"))
    return ExitStatus.YES


def _check_options(options: Namespace) -> None:
    if options.format == "manifest":
        if not options.organization:
            raise CommandFailed("--format manifest needs --organization")
        for option in ("name", "namespace", "organization"):
            value = getattr(options, option)
            if value is not None and not template_text.is_object_name(value):
                raise CommandFailed(f"--{option} must be 1 to 63 characters of a-z, 0-9 and hyphens")
    elif options.name or options.namespace or options.organization:
        raise CommandFailed("--name, --namespace and --organization need --format manifest")
    if not options.server and (options.key or options.key_file):
        raise CommandFailed("--key and --key-file need --server")


def _prompt(given: str) -> str:
    if given != "-":
        text = given
    else:
        try:
            text = sys.stdin.buffer.read(_LENGTHS[1] * 8).decode()
        except UnicodeDecodeError:
            raise CommandFailed("the prompt is not UTF-8") from None
    shortest, longest = _LENGTHS
    if not shortest <= len(text.strip()) <= longest:
        raise CommandFailed(f"a prompt has {shortest} to {longest} characters, not {len(text.strip())}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise CommandFailed("the prompt is not UTF-8") from None
    return text.strip()


def _composed(options: Namespace, prompt: str) -> _Generated:
    # Imported late: the composer is slow to load, and other commands do not need it.
    from checklist_composer.composing import NothingToCompose, compose
    from checklist_composer.explanation import explanation

    try:
        composition = compose(prompt, locale=options.locale)
    except NothingToCompose as nothing:
        raise _NoTemplate(str(nothing), nothing.closest) from None
    definition = composition.definition
    if not options.explain:
        return _Generated(definition)
    explained = explanation(definition, composition.sources, composition.unused, prompt)
    return _Generated(definition, table(definition, explained))


def _by_service(options: Namespace, prompt: str) -> _Generated:
    import httpx

    url = options.server.rstrip("/") + "/v1/templates/generate"
    parameters = ({"locale": options.locale} if options.locale else {}) | (
        {"explain": "true"} if options.explain else {}
    )
    headers = {"Authorization": f"Bearer {read_api_key(options.key_file, options.key)}"}
    try:
        response = httpx.post(
            url, json={"prompt": prompt}, params=parameters, headers=headers, timeout=_TIMEOUT_S, trust_env=False
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CommandFailed(f"{options.server} does not answer: {type(error).__name__}") from None
    try:
        body: Any = response.json()
    except ValueError:
        body = None
    if response.status_code == 422 and isinstance(body, dict) and body.get("error") == "generation_failed":
        raise _refusal(body)
    if response.status_code != 200:
        said = body.get("message") if isinstance(body, dict) else None
        raise CommandFailed(f"{options.server} answers {response.status_code}: {_printable(said)}")
    print(f"made by: {_printable(response.headers.get('X-Generated-By', ''))}", file=sys.stderr)
    try:
        if not options.explain:
            return _Generated(parse_definition(body))
        definition = parse_definition(body["template"])
        return _Generated(definition, table(definition, body))
    except (ValidationFailed, AttributeError, KeyError, TypeError, ValueError):
        raise CommandFailed(f"{options.server} did not answer with a template") from None


def _refusal(body: dict[str, Any]) -> _NoTemplate:
    details = body.get("details")
    problems = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    jobs = [str(each.get("message")) for each in problems if each.get("code") == "closest_job"]
    return _NoTemplate(_printable(body.get("message")), jobs)


def _printable(text: object) -> str:
    return plain(text)[:_MAX_PRINTED] if isinstance(text, str) and text else "no readable message"


def _text_of(options: Namespace) -> Callable[[Definition], str]:
    match options.format:
        case "manifest":
            return lambda definition: template_text.as_manifest(
                definition,
                name=options.name or template_text.object_name(definition.name),
                namespace=options.namespace,
                organization=options.organization,
            )
        case "yaml":
            return template_text.as_yaml
        case _:
            return template_text.as_json


COMMAND = Command(
    name="generate",
    summary="generate a template from a prompt, as JSON, YAML or a manifest",
    description="""\
Generate a template from plain language: TDL for POST /v1/templates, or a Template manifest.

  checklist-dispatch generate "Van check: tyres ok, lights ok, tyre pressure in bar (2.2 to 2.6)"
  checklist-dispatch generate "Wohnungsübergabe" --format manifest --organization my-organization > handover.yaml
  checklist-dispatch generate - --server https://checklists.example --key-file key.txt < procedure.txt
  checklist-dispatch generate "Cold room: temperature, max 7 °C; is the door tight?" --explain > template.json

Without --server the built-in composer works locally, without a network; the same prompt gives the same template.

Exit status: 0 done, 1 no template can be generated from the prompt, 2 an error.
""",
    configure=_configure,
    run=_run,
)
