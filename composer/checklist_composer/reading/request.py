"""What a prompt is as a whole: whether it asks for a checklist at all, and whether it is tidy or messy.

A question, a poem or a complaint asks for none. A messy prompt (dictated speech, asides, nested conditions) is hard to
read, so each part of it is worth less.
"""

from itertools import pairwise
from typing import Final

import pycrfsuite

from .models import tagger
from .sentences import Sentences
from .token_features import BULLET
from .tokens import TokenizedText

REQUESTS: Final = "requests.crfsuite"
FORMS: Final = "forms.crfsuite"
"""Files in the package's folder `model`."""
YES: Final = "checklist"
NO: Final = "other"
PLAIN: Final = "plain"
MESSY: Final = "messy"
_BEGINNING: Final = 16
_LONGEST_NOUN: Final = 12
_WORDS: Final = 60
_OPENING: Final = 4
_PRONOUNS: Final = frozenset({"pronoun", "we"})


def asking(text: TokenizedText) -> float:
    """How likely the prompt asks for a checklist, 0 to 1."""
    if _asks_for_other_text(text):
        return 0.0
    model = tagger(REQUESTS)
    model.set(pycrfsuite.ItemSequence([request_features(text)]))
    return float(model.marginal(YES, 0))


def _asks_for_other_text(text: TokenizedText) -> bool:
    """Whether it begins with a request to translate or write something else: `write me a poem about checks`."""
    keys = [token.key for token in text.tokens[:_BEGINNING]]
    for at, key in enumerate(keys):
        if key.startswith(text.language.rewriting):
            into = {*text.language.rewriting_into}
            return not any("checklist" in text.roles[to] and {*keys[to - 2 : to]} & into for to in range(2, len(keys)))
        if key.startswith(text.language.writing):
            objects = keys[at + 1 : at + 1 + _OPENING]
            return any(one.startswith(text.language.writings) and len(one) < _LONGEST_NOUN for one in objects)
    return False


def messiness(text: TokenizedText, sentences: Sentences) -> float:
    """How likely the prompt is a messy one, 0 to 1."""
    model = tagger(FORMS)
    model.set(pycrfsuite.ItemSequence([form_features(text, sentences)]))
    return float(model.marginal(MESSY, 0))


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


def form_features(text: TokenizedText, sentences: Sentences) -> list[str]:
    """What the decision between tidy and messy sees besides: how long sentences are, capitals, marks, suppositions."""
    starts = [at for at in range(len(text)) if at == 0 or sentences.of[at] != sentences.of[at - 1]]
    lengths = [end - start for start, end in pairwise([*starts, len(text)])]
    words = [token.text for token in text.tokens if token.is_word]
    share = 1 / max(1, len(text))
    capitals = sum(word[0].isupper() for word in words) / max(1, len(words))
    marks = sum(token.text in ",.;:?" for token in text.tokens) * share
    pronouns = sum(bool(roles.keys() & _PRONOUNS) for roles in text.roles) * share
    return [
        *request_features(text),
        f"longest={min(max(lengths, default=0) // 8, 8)}",
        f"mean={min(len(text) // max(1, len(lengths)) // 4, 8)}",
        f"lower={text.text == text.text.lower()}",
        f"capitals={int(capitals * 10)}",
        f"lower-starts={min(sum(text.tokens[at].text[:1].islower() for at in starts), 4)}",
        f"marks={min(int(marks * 40), 8)}",
        f"ifs={min(sum('if' in roles for roles in text.roles), 5)}",
        f"pronouns={min(int(pronouns * 40), 6)}",
    ]
