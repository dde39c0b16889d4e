"""Completion of `kubectl checklists`, by the protocol of kubectl's own completion for bash, zsh, fish and PowerShell.

kubectl runs `kubectl_complete-checklists` with the words after `kubectl checklists`; the last one is incomplete. Its
output is one candidate per line, with a tab before its description, and `:N` in the last line, where N adds up Cobra's
directives.
"""

import argparse
import asyncio
import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Final

from ..console.command import CommandFailed

NO_FILES: Final = 4
FILES: Final = 0
_WITHIN_S: Final = 2.0
_MOST: Final = 500

Candidate = tuple[str, str]
"""A word and its description."""


def complete(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """The answer to kubectl; `words` ends with the incomplete one."""
    *before, last = words or [""]
    candidates, directive = _candidates(parser, before, last)
    chosen = sorted({word: text for word, text in candidates if word.startswith(last)}.items())
    lines = [f"{word}\t{text}" if text else word for word, text in chosen]
    return "\n".join([*lines, f":{directive}"])


def _candidates(
    parser: argparse.ArgumentParser, before: Sequence[str], last: str
) -> tuple[Iterator[Candidate] | list[Candidate], int]:
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    if not before:
        summaries = [(one.dest, one.help or "") for one in commands._choices_actions]
        return [*summaries, *_options(parser)], NO_FILES
    chosen = commands.choices.get(before[0])
    if chosen is None:
        return [], NO_FILES
    given = before[1:]
    options = {option: action for action in chosen._actions for option in action.option_strings}
    if last.startswith("--") and "=" in last:
        option, _, _ = last.partition("=")
        values, directive = _values(options.get(option), given)
        return [(f"{option}={word}", text) for word, text in values], directive
    if given and (action := options.get(given[-1])) is not None and action.nargs != 0:
        return _values(action, given)
    if last.startswith("-"):
        return _options(chosen), NO_FILES
    return _values(_next_positional(chosen, options, given), given)


def _options(parser: argparse.ArgumentParser) -> list[Candidate]:
    return [
        (option, _first_line(action.help))
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    ]


def _next_positional(
    parser: argparse.ArgumentParser, options: dict[str, argparse.Action], given: Sequence[str]
) -> argparse.Action | None:
    """The positional argument that the next word belongs to, if any."""
    count, words = 0, iter(given)
    for word in words:
        if word.startswith("-"):
            action = options.get(word)
            if action is not None and action.nargs is None and not isinstance(action, argparse._StoreConstAction):
                next(words, None)
        else:
            count += 1
    positionals = [one for one in parser._actions if not one.option_strings]
    if count < len(positionals):
        return positionals[count]
    return positionals[-1] if positionals and positionals[-1].nargs == "*" else None


def _values(action: argparse.Action | None, given: Sequence[str]) -> tuple[list[Candidate], int]:
    if action is None:
        return [], NO_FILES
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices], NO_FILES
    if action.dest == "kubeconfig":
        return [], FILES
    what = getattr(action, "completes", None)
    return ([] if what is None else _names(what, given)), NO_FILES


def _names(what: str, given: Sequence[str]) -> list[Candidate]:
    """Names of objects; none if the cluster does not answer at once, since a person waits for it."""
    options = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    options.add_argument("-n", "--namespace")
    options.add_argument("--context")
    options.add_argument("--kubeconfig")
    failures = (CommandFailed, TimeoutError, argparse.ArgumentError, OSError)
    with contextlib.suppress(*failures), contextlib.redirect_stderr(io.StringIO()):
        known, _ = options.parse_known_args(list(given))
        return asyncio.run(_listed(what, known))
    return []


async def _listed(what: str, options: argparse.Namespace) -> list[Candidate]:
    from checklist_crds.resources import kinds

    from .cluster import cluster_of

    kind = {"runs": kinds.RUN, "templates": kinds.TEMPLATE, "deliveries": kinds.WEBHOOK_DELIVERY}[what]
    async with asyncio.timeout(_WITHIN_S), cluster_of(options) as cluster:
        pages = cluster.client.pages(kind, cluster.namespace, metadata_only=True, page=_MOST)
        async with contextlib.aclosing(pages) as listed:  # type: ignore[type-var]
            async for page, _ in listed:
                return [(str(body["metadata"]["name"]), "") for body in page]
    return []


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]
