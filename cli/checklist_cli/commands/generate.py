"""`checklist-dispatch generate`: a template from a prompt, by the built-in composer here or by a service."""

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
"""A little more than a service may give its language model."""
_MAX_PRINTED: Final = 500


class _Nothing(Exception):
    """No template can be made of the prompt: why, and the names of jobs that may have been meant."""

    def __init__(self, why: str, jobs: Iterable[str] = ()) -> None:
        named = ", ".join(_printable(job) for job in jobs)
        super().__init__(f"{why} Closest in the library: {named}" if named else why)


@dataclass(frozen=True, slots=True)
class _Made:
    definition: Definition
    explained: str = ""
    """Lines for people, where they are wanted."""


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", help="what the checklist is for, in plain language; - reads it from standard input")
    parser.add_argument("--locale", choices=LOCALES, help="language where the prompt does not tell it better")
    parser.add_argument(
        "--format",
        choices=("tdl", "manifest", "yaml"),
        default="tdl",
        help="tdl: JSON as the API has it (default); manifest: a Template for kubectl; yaml: the TDL as YAML",
    )
    parser.add_argument(
        "--explain", action="store_true", help="tell on standard error which words of the prompt became which step"
    )
    manifest = parser.add_argument_group("of a manifest")
    manifest.add_argument("--name", help="metadata.name (default: made from the template's name)")
    manifest.add_argument("--namespace", help="metadata.namespace (default: left to kubectl)")
    manifest.add_argument("--organization", help="name of the Organization that it belongs to (required)")
    service = parser.add_argument_group("by a service, and the language model that it may have")
    service.add_argument("--server", metavar="URL", help="the service's base address; without it, all is done here")
    keys = service.add_mutually_exclusive_group()
    keys.add_argument("--key-file", type=Path, metavar="FILE", help=f"the API key's file (default: ${KEY_VARIABLE})")
    keys.add_argument("--key", help="the API key itself, which other users of the machine can see")


def _run(options: Namespace) -> ExitStatus:
    _require_sense(options)
    prompt = _prompt(options.prompt)
    try:
        made = _by_service(options, prompt) if options.server else _composed(options, prompt)
    except _Nothing as nothing:
        print(f"checklist-dispatch generate: {nothing}", file=sys.stderr)
        return ExitStatus.NO
    if made.explained:
        print(made.explained, file=sys.stderr)
    print(_text_of(options)(made.definition).rstrip("\n"))
    return ExitStatus.YES


def _require_sense(options: Namespace) -> None:
    if options.format == "manifest":
        if not options.organization:
            raise CommandFailed("--organization is needed: a Template belongs to one")
        for option in ("name", "namespace", "organization"):
            value = getattr(options, option)
            if value is not None and not template_text.is_object_name(value):
                raise CommandFailed(f"--{option} must be of a-z, 0-9 and hyphens, at most 63, as Kubernetes wants it")
    elif options.name or options.namespace or options.organization:
        raise CommandFailed("--name, --namespace and --organization are for --format manifest")
    if not options.server and (options.key or options.key_file):
        raise CommandFailed("a key is for --server")


def _prompt(given: str) -> str:
    if given != "-":
        text = given
    else:
        try:
            text = sys.stdin.buffer.read(_LENGTHS[1] * 8).decode()
        except UnicodeDecodeError:
            raise CommandFailed("the prompt is not text in UTF-8") from None
    shortest, longest = _LENGTHS
    if not shortest <= len(text.strip()) <= longest:
        raise CommandFailed(f"a prompt has {shortest} to {longest} characters, not {len(text.strip())}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise CommandFailed("the prompt is not text in UTF-8") from None
    return text.strip()


def _composed(options: Namespace, prompt: str) -> _Made:
    # Its tables take a moment to load, and other commands have no need of them.
    from checklist_composer.composing import NothingToCompose, compose
    from checklist_composer.explanation import explanation

    try:
        composition = compose(prompt, locale=options.locale)
    except NothingToCompose as nothing:
        raise _Nothing(str(nothing), nothing.closest) from None
    definition = composition.definition
    if not options.explain:
        return _Made(definition)
    return _Made(
        definition, table(definition, explanation(definition, composition.sources, composition.unused, prompt))
    )


def _by_service(options: Namespace, prompt: str) -> _Made:
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
    made_by = response.headers.get("X-Generated-By", "")
    print(f"made by: {_printable(made_by)}", file=sys.stderr)
    try:
        if not options.explain:
            return _Made(parse_definition(body))
        definition = parse_definition(body["template"])
        return _Made(definition, table(definition, body))
    except (ValidationFailed, AttributeError, KeyError, TypeError, ValueError):
        raise CommandFailed(f"{options.server} answers with something that is no template") from None


def _refusal(body: dict[str, Any]) -> _Nothing:
    details = body.get("details")
    problems = [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    jobs = [str(each.get("message")) for each in problems if each.get("code") == "closest_job"]
    return _Nothing(_printable(body.get("message")), jobs)


def _printable(text: object) -> str:
    return plain(text)[:_MAX_PRINTED] if isinstance(text, str) and text else "nothing that could be read"


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
    summary="make a template from a prompt, as JSON or as a manifest for kubectl",
    description="""\
Make a template from plain language: TDL that POST /v1/templates takes, or a Template manifest for a repository.

  checklist-dispatch generate "Van check: tyres ok, lights ok, tyre pressure in bar (2.2 to 2.6)"
  checklist-dispatch generate "Wohnungsübergabe" --format manifest --organization my-organization > handover.yaml
  checklist-dispatch generate - --server https://checklists.example --key-file key.txt < procedure.txt
  checklist-dispatch generate "Cold room: temperature, max 7 °C; is the door tight?" --explain > template.json

Without --server the built-in composer makes it here, without network: the same prompt, the same template.

Exit status: 0 done, 1 no template can be made of the prompt, 2 it could not be done.
""",
    configure=_configure,
    run=_run,
)
