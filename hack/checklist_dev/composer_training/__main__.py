"""`make composer-model`: trains the composer's models from the labelled prompts, or says how well they generalise."""

import argparse

from checklist_dev.failures import Failure, say

from .labelled_prompts import load_labelled
from .training import MODELS, fingerprint, train


def main() -> int:
    parser = argparse.ArgumentParser(prog="make composer-model", description=__doc__)
    parser.add_argument("--check", action="store_true", help="train nothing; fail if the models are not current")
    options = parser.parse_args()
    if options.check:
        source = MODELS / "SOURCE"
        if not source.exists() or source.read_text("ascii").strip() != fingerprint():
            raise Failure("the composer's models are not those of the labelled prompts; run `make composer-model`")
        return 0
    prompts = load_labelled()
    say(f"training on {len(prompts):,} labelled prompts")
    train(prompts, progress=say)
    say(f"wrote {MODELS}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
