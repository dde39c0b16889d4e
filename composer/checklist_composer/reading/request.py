"""Whether a prompt asks for a checklist at all: a question, a poem or a complaint does not."""

from itertools import pairwise
from typing import Final

import pycrfsuite

from .models import tagger
from .token_features import BULLET
from .tokens import TokenizedText

MODEL: Final = "requests.crfsuite"
"""File in the package's folder `model`."""
YES: Final = "checklist"
NO: Final = "other"
_WORDS: Final = 60
_OPENING: Final = 4


def probability(text: TokenizedText) -> float:
    """How likely the prompt asks for a checklist, 0 to 1."""
    model = tagger(MODEL)
    model.set(pycrfsuite.ItemSequence([request_features(text)]))
    return float(model.marginal(YES, 0))


def request_features(text: TokenizedText) -> list[str]:
    """What the decision sees of a prompt: its words, their roles, how it begins and ends, its form."""
    tokens = text.tokens[:_WORDS]
    keys = [token.key for token in tokens]
    features = dict.fromkeys(f"w={key}" for key in keys)
    features |= dict.fromkeys(f"b={first}|{second}" for first, second in pairwise(keys))
    roles: dict[str, int] = {}
    for found in text.roles:
        for role in found:
            roles[role] = roles.get(role, 0) + 1
    features |= dict.fromkeys(f"r={role}" for role in roles)
    features |= dict.fromkeys(f"r2={role}" for role, count in roles.items() if count > 2)
    features |= dict.fromkeys(f"first={at}{key}" for at, key in enumerate(keys[:_OPENING]))
    features |= dict.fromkeys(f"first-r={role}" for found in text.roles[:_OPENING] for role in found)
    lines = [line for line in text.lines if line.strip()]
    bullets = sum(bool(BULLET.match(line)) for line in lines)
    questions = text.text.count("?")
    features |= dict.fromkeys(
        (
            "bias",
            f"last={text.text.rstrip()[-1:]}",
            f"lines={min(len(lines), 4)}",
            f"bullets={min(bullets, 3)}",
            f"questions={min(questions, 3)}",
            f"only-question={questions == 1 and text.text.rstrip().endswith('?')}",
            f"commas={min(text.text.count(','), 5)}",
            f"size={min(len(text.tokens) // 10, 6)}",
            f"numbers={min(sum(token.is_number for token in text.tokens), 4)}",
        )
    )
    return list(features)
