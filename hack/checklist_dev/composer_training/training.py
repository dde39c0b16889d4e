"""Trains the composer's models; the same labelled prompts give the same models."""

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import pycrfsuite

from checklist_composer.language import language_of
from checklist_composer.reading import labeller
from checklist_composer.reading.labels import OUTSIDE, Label, token_label
from checklist_composer.reading.request import (
    ABOUT,
    ASIDE,
    ASKS,
    FORMS,
    NO,
    REQUESTS,
    SENTENCES,
    YES,
    form_features,
    request_features,
    sentence_features,
)
from checklist_composer.reading.sentences import Sentences
from checklist_composer.reading.token_features import token_features
from checklist_composer.reading.tokens import TokenizedText

from .labelled_prompts import LabelledPrompt
from .variants import variants

MODELS: Final = Path(labeller.__file__).parent.parent / "model"
SPANS: Final = {"c1": 0.5, "c2": 0.1, "max_iterations": 110, "feature.minfreq": 2}
WHOLE: Final = {"c1": 0.1, "c2": 0.5, "max_iterations": 150}
_WHOLE: Final = (Label.NAME, Label.SECTION, Label.SETTING)
_SEED: Final = 20_261_123


def token_labels(prompt: LabelledPrompt, text: TokenizedText) -> list[str]:
    """The label of each token of a prompt, as its tags say."""
    labels = [OUTSIDE] * len(text)
    for span in prompt.spans:
        inside = [at for at, token in enumerate(text.tokens) if token.start < span.end and token.end > span.start]
        for index in inside:
            labels[index] = token_label(span.label, first=index == inside[0])
    return labels


def train_spans(prompts: Sequence[LabelledPrompt], path: Path, *, progress: Callable[[str], None]) -> None:
    """The sequence labeller, of the prompts and of variants of them in which spans have changed places."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(SPANS)
    examples = [*prompts, *variants(prompts, random.Random(_SEED))]
    for prompt in examples:
        text = TokenizedText(language_of(prompt.language), prompt.text)
        if text.tokens:
            trainer.append(pycrfsuite.ItemSequence(token_features(text)), token_labels(prompt, text))
    progress(f"{len(examples):,} prompts with variants; some minutes")
    trainer.train(str(path))


def train_requests(prompts: Iterable[LabelledPrompt], path: Path) -> None:
    """The decision whether a prompt asks for a checklist."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(WHOLE)
    for prompt in prompts:
        text = TokenizedText(language_of(prompt.language), prompt.text)
        trainer.append(pycrfsuite.ItemSequence([request_features(text)]), [YES if prompt.checklist else NO])
    trainer.train(str(path))


def train_forms(prompts: Iterable[LabelledPrompt], path: Path) -> None:
    """The decision whether a prompt is plain or messy."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(WHOLE)
    for prompt in prompts:
        if prompt.checklist:
            text = TokenizedText(language_of(prompt.language), prompt.text)
            trainer.append(pycrfsuite.ItemSequence([form_features(text, Sentences(text))]), [prompt.kind])
    trainer.train(str(path))


def train_sentences(prompts: Iterable[LabelledPrompt], path: Path) -> None:
    """The decision which sentences of a prompt ask for something."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(WHOLE | {"feature.minfreq": 2})
    whole = {token_label(label, first=first) for label in _WHOLE for first in (True, False)} | {OUTSIDE}
    for prompt in prompts:
        text = TokenizedText(language_of(prompt.language), prompt.text)
        if not prompt.checklist or not text.tokens:
            continue
        sentences, labels = Sentences(text), token_labels(prompt, text)
        kinds = []
        for start, end in sentences.all():
            inside = set(labels[start:end])
            kinds.append(ASKS if inside - whole else ABOUT if inside - {OUTSIDE} else ASIDE)
        trainer.append(pycrfsuite.ItemSequence(sentence_features(text, sentences)), kinds)
    trainer.train(str(path))


def train(prompts: Sequence[LabelledPrompt], folder: Path = MODELS, *, progress: Callable[[str], None] = print) -> None:
    """The models, and what they were made of."""
    folder.mkdir(parents=True, exist_ok=True)
    train_requests(prompts, folder / REQUESTS)
    train_forms(prompts, folder / FORMS)
    train_sentences(prompts, folder / SENTENCES)
    train_spans(prompts, folder / labeller.MODEL, progress=progress)
    (folder / "SOURCE").write_text(f"{fingerprint()}\n", "ascii")


def fingerprint() -> str:
    """A hash of all that the models are made of: labelled prompts, features, vocabulary, the trainer's settings."""
    package = MODELS.parent
    sources = [
        *sorted(MODELS.parent.parent.joinpath("training").glob("*.yaml")),
        *(
            package / "reading" / name
            for name in ("token_features.py", "tokens.py", "labels.py", "request.py", "sentences.py")
        ),
        *sorted((package / "languages").glob("*.yaml")),
        package / "language.py",
        package / "verb_forms.py",
        *sorted(Path(__file__).parent.glob("*.py")),
    ]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()
