"""`make eval`, second part: the share of expected features in the composer's templates.

score = found / (expected + wrong extras). Developers know these prompts, so this guards against regressions; unseen
batches measure quality (`checklist_dev.evaluation.curve`). Exit code 1 below the floor.
"""

import argparse
from pathlib import Path

from checklist_composer.composing import compose
from checklist_dev.failures import Failure, run_tool, say
from checklist_dev.repository import STATE

from .cases import FOLDER, load_cases
from .outline import outline
from .report import Verdict, details, summary, write_report
from .scoring import score_case


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m checklist_dev.evaluation", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of *.yaml files with prompts and features")
    parser.add_argument("--case", action="append", metavar="WORD", help="only prompts with this word in their id")
    parser.add_argument("--language", choices=("en", "de", "es", "fr"), help="only prompts in this language")
    parser.add_argument("--below", type=float, default=100.0, help="only details of prompts below this percentage")
    parser.add_argument("--show", action="store_true", help="print the templates, too")
    parser.add_argument("--report", type=Path, default=STATE / "eval.json", help="default: .run/eval.json")
    arguments = parser.parse_args()
    cases = [
        case
        for case in load_cases(arguments.folder)
        if arguments.language in (None, case.language)
        and (not arguments.case or any(word in case.id for word in arguments.case))
    ]
    if not cases:
        raise Failure("no prompt matches")
    scores = [score_case(case, compose) for case in cases]
    if arguments.show:
        for score in scores:
            print(f"\n=== {score.case.id}\n{score.case.prompt.rstrip()}\n---")
            print(outline(score.composition.definition) if score.composition is not None else "nothing to compose")
    verdict = Verdict(scores)
    print(details(scores, below=arguments.below / 100 if arguments.below < 100 else 1.01))
    print()
    print(summary(verdict))
    write_report(arguments.report, verdict)
    say(f"report {arguments.report}")
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    run_tool(main)
