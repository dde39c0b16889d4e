"""The learning curve of the composer: how many templates of unseen prompts are usable, drafts, poor or harmful.

A batch is judged by the rubrics that its author wrote before any template existed (`batches`, `verdicts`). With
`--model-url` a language model generates the templates as in the API; prompts for which it fails are answered by the
composer and counted separately.
"""

import argparse
import asyncio
import functools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checklist_composer.composing import NothingToCompose, compose
from checklist_crds.resources.template_definition import Definition
from checklist_dev.failures import Failure, run_tool, say

from .batches import BATCHES, Prompt, load_batches
from .findings import harm
from .model_answers import MOST_AT_ONCE, Answer, model_answers, model_settings
from .outline import outline
from .verdicts import RANKS, Verdict, judge

Composing = Callable[[str], Definition]
"""Returns the template of a prompt; raises NothingToCompose if it is refused."""
_COLUMNS: Final = ("prompts", *RANKS, "usable", "no checklist: refused", "wrongly refused")


@dataclass(frozen=True, slots=True)
class Judged:
    """One prompt, its template and the verdict. `definition`: None if it was refused or failed."""

    batch: str
    prompt: Prompt
    definition: Definition | None
    verdict: Verdict
    by: str = "composer"
    """As in `X-Generated-By`: `composer`, `model`, or `composer; reason=...`."""

    @property
    def is_refused(self) -> bool:
        return self.definition is None and "broken" not in self.verdict.families


def judged(batch: str, prompt: Prompt, composing: Composing, by: str = "composer") -> Judged:
    """Compose the prompt and judge the template; an error of the composer counts as harmful."""
    try:
        definition = composing(prompt.prompt)
    except NothingToCompose:
        return Judged(batch, prompt, None, judge(prompt, None), by)
    except Exception as error:  # one failing prompt must not hide the results of the others
        broken = Verdict("harmful", (harm("broken", f"the composer broke: {error!r}"),))
        return Judged(batch, prompt, None, broken, by)
    return Judged(batch, prompt, definition, judge(prompt, definition), by)


def composed(prompt: str) -> Definition:
    """The built-in composer's template. Raises NothingToCompose."""
    return compose(prompt).definition


def judged_answers(chosen: Sequence[tuple[str, Prompt]], answers: Sequence[Answer]) -> list[Judged]:
    """Judge a model's answers, and the composer's where there is none."""
    results = []
    for (letter, prompt), answer in zip(chosen, answers, strict=True):
        if answer.definition is not None:
            results.append(judged(letter, prompt, functools.partial(_given, answer.definition), "model"))
        else:
            reason = "" if answer.reason is None else f"; reason={answer.reason.value}"
            results.append(judged(letter, prompt, composed, f"composer{reason}"))
    return results


def _given(definition: Definition, _: str) -> Definition:
    return definition


def table(results: Sequence[Judged]) -> Iterator[str]:
    """A line for each batch, language and class, and one for the total."""
    groups: dict[str, list[Judged]] = {}
    for title, key in _GROUPINGS:
        for result in sorted(results, key=key):
            groups.setdefault(f"{title}{key(result)}", []).append(result)
    width = max(map(len, groups), default=0)
    yield f"{'':{width}}  " + "  ".join(_COLUMNS)
    for name, members in groups.items():
        cells = zip(_COLUMNS, _cells(members), strict=True)
        yield f"{name:{width}}  " + "  ".join(f"{cell:>{len(column)}}" for column, cell in cells)


_GROUPINGS: Final[Sequence[tuple[str, Callable[[Judged], str]]]] = (
    ("batch ", lambda result: result.batch),
    ("", lambda result: result.prompt.lang),
    ("", lambda result: result.prompt.form if result.prompt.checklist else "no checklist"),
    ("all", lambda _: ""),
)


def _cells(members: Sequence[Judged]) -> Iterator[str]:
    ranks = Counter(member.verdict.verdict for member in members)
    yield str(len(members))
    yield from (str(ranks[rank]) for rank in RANKS)
    yield f"{ranks['usable'] / len(members):.0%}"
    for is_wanted in (False, True):
        refused = [member.is_refused for member in members if member.prompt.checklist is is_wanted]
        yield f"{sum(refused)}/{len(refused)}"


def tables(results: Sequence[Judged]) -> Iterator[str]:
    """The table and the families of findings, and a separate table of a model's fallback with its reasons."""
    own = [result for result in results if "reason=" not in result.by]
    fallback = [result for result in results if "reason=" in result.by]
    yield from (*table(own), "", *families(own))
    if fallback:
        reasons = Counter(result.by.partition("reason=")[2] for result in fallback)
        why = ", ".join(f"{reason} {times}" for reason, times in reasons.most_common())
        yield f"\nThe model gave {len(own)} of {len(results)} templates; the composer answered the others ({why}):"
        yield from table(fallback)


def families(results: Sequence[Judged]) -> Iterator[str]:
    """The number of templates with each family of findings, the most harmful first."""
    harmful, all_of_them = Counter[str](), Counter[str]()
    for result in results:
        all_of_them.update(set(result.verdict.families))
        harmful.update({each.family for each in result.verdict.findings if each.weight.name == "HARM"})
    yield f"{'family':16}  harmful  prompts"
    for family, times in sorted(all_of_them.items(), key=lambda pair: (-harmful[pair[0]], -pair[1], pair[0])):
        yield f"{family:16}  {harmful[family]:7}  {times:7}"


def failures(results: Sequence[Judged]) -> Iterator[str]:
    """The findings of each template that is not usable, the worst first."""
    for result in sorted(results, key=lambda result: -RANKS.index(result.verdict.verdict)):
        if result.verdict.verdict != "usable":
            yield f"\n{result.verdict.verdict:8} {result.prompt.id} ({result.prompt.trade}, {result.prompt.form})"
            yield from _lines(result.verdict)


def shown(result: Judged) -> Iterator[str]:
    """A prompt, its template and the verdict."""
    yield f"=== {result.prompt.id} ({result.prompt.trade}, {result.prompt.form})\n{result.prompt.prompt.rstrip()}\n---"
    yield outline(result.definition) if result.definition is not None else "no template"
    yield f"--- {result.verdict.verdict}"
    yield from _lines(result.verdict)


def _lines(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings:
        yield f"  {finding.weight.name.lower():6} {finding.family:15} {finding.text}"


def report(results: Sequence[Judged]) -> list[dict[str, Any]]:
    """`[{id, batch, lang, class, checklist, refused, by, verdict, findings: [{weight, family, text}]}]`"""
    return [
        {
            "id": result.prompt.id,
            "batch": result.batch,
            "lang": result.prompt.lang,
            "class": result.prompt.form,
            "checklist": result.prompt.checklist,
            "refused": result.is_refused,
            "by": result.by,
            "verdict": result.verdict.verdict,
            "findings": [
                {"weight": each.weight.name.lower(), "family": each.family, "text": each.text}
                for each in result.verdict.findings
            ],
        }
        for result in results
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.evaluation.curve", description=__doc__)
    parser.add_argument("--folder", type=Path, default=BATCHES, help="folder of batch-<letter>.yaml")
    parser.add_argument("--batch", action="append", metavar="LETTER", help="only this batch")
    parser.add_argument("--failures", action="store_true", help="print the findings of each template")
    parser.add_argument("--show", action="append", metavar="ID", help="only show this prompt, template and verdict")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all verdicts")
    model = parser.add_argument_group(
        "a language model", "make eval MODEL_URL=... [MODEL_NAME=...] [MODEL_KEY_FILE=...]"
    )
    model.add_argument(
        "--model-url", metavar="URL", help="base URL of an OpenAI-compatible server, as http://127.0.0.1:11434/v1"
    )
    model.add_argument(
        "--model-name", metavar="NAME", help="the model (servers with one model usually accept any name)"
    )
    model.add_argument("--model-key-file", type=Path, metavar="FILE", help="file with the key for that server")
    model.add_argument(
        "--at-once",
        type=int,
        choices=range(1, MOST_AT_ONCE + 1),
        default=4,
        metavar="N",
        help=f"concurrent prompts, at most {MOST_AT_ONCE} (default 4); other settings of the model, as "
        "CHECKLISTS_MODEL_TIMEOUT, are read from the environment as in the API",
    )
    arguments = parser.parse_args(argv)
    if arguments.model_url is None and (arguments.model_name or arguments.model_key_file):
        parser.error("--model-name and --model-key-file need --model-url")
    chosen = [
        (batch.letter, prompt)
        for batch in load_batches(arguments.folder)
        for prompt in batch.prompts
        if (not arguments.batch or batch.letter in arguments.batch)
        and (not arguments.show or prompt.id in arguments.show)
    ]
    if not chosen:
        raise Failure("no prompt matches")
    if arguments.model_url is None:
        results = [judged(letter, prompt, composed) for letter, prompt in chosen]
    else:
        settings = model_settings(arguments.model_url, arguments.model_name, arguments.model_key_file, os.environ)
        prompts = [prompt for _, prompt in chosen]
        results = judged_answers(chosen, asyncio.run(model_answers(settings, prompts, arguments.at_once)))
    if arguments.show:
        print("\n".join(line for result in results for line in shown(result)))
    else:
        print("\n".join([*tables(results), *(failures(results) if arguments.failures else [])]))
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report(results), indent=2, ensure_ascii=False) + "\n", "utf-8")
        say(f"verdicts {arguments.json}")
    return 0


if __name__ == "__main__":
    run_tool(main)
