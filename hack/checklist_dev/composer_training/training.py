"""Trains the composer's models; the same labelled prompts give the same models."""

import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import pycrfsuite

from checklist_composer.language import language_of
from checklist_composer.reading import labeller
from checklist_composer.reading.items import items_of
from checklist_composer.reading.labeller import labelled_spans
from checklist_composer.reading.labels import OUTSIDE, Label, token_label
from checklist_composer.reading.references import NOT_MEANT, REFERENCES, candidates, reference_features
from checklist_composer.reading.request import (
    FORMS,
    NO,
    REQUESTS,
    YES,
    form_features,
    request_features,
)
from checklist_composer.reading.sentences import Sentences
from checklist_composer.reading.token_features import token_features
from checklist_composer.reading.tokens import TokenizedText

from .labelled_prompts import FOLDER, LabelledPrompt, load_labelled
from .variants import variants

MODELS: Final = Path(labeller.__file__).parent.parent / "model"
SPANS: Final = {"c1": 0.5, "c2": 0.1, "max_iterations": 110, "feature.minfreq": 2}
WHOLE: Final = {"c1": 0.1, "c2": 0.5, "max_iterations": 150}
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


def train_references(prompts: Iterable[LabelledPrompt], path: Path) -> None:
    """The decision which earlier answer a condition refers to."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(WHOLE | {"c1": 0.2, "max_iterations": 80, "feature.minfreq": 2})
    for prompt in prompts:
        text = TokenizedText(language_of(prompt.language), prompt.text)
        tagged = {
            next(at for at, token in enumerate(text.tokens) if token.end > span.start): span.attributes
            for span in prompt.spans
        }
        ids = {attributes["id"]: start for start, attributes in tagged.items() if "id" in attributes}
        sentences, spans = Sentences(text), list(labelled_spans(token_labels(prompt, text)))
        items = items_of(text, spans, sentences)
        last = None
        for span in spans:
            if span.label is not Label.IF:
                continue
            attributes = tagged.get(span.start, {})
            before = [item for item in items if item.end <= span.start]
            for distance, item, means in candidates(before):
                meant = ids.get(attributes.get("on", "")) == item.start and attributes.get("is") in means
                features = reference_features(text, sentences, span, before, distance, last=last)
                trainer.append(pycrfsuite.ItemSequence([features]), [attributes["is"] if meant else NOT_MEANT])
            last = next((item for item in items if item.start == ids.get(attributes.get("on", ""))), None)
    trainer.train(str(path))


def train(prompts: Sequence[LabelledPrompt], folder: Path = MODELS, *, progress: Callable[[str], None] = print) -> None:
    """The models, and what they were made of."""
    folder.mkdir(parents=True, exist_ok=True)
    train_requests([*prompts, *load_labelled(FOLDER / "requests")], folder / REQUESTS)
    train_forms(prompts, folder / FORMS)
    train_references(prompts, folder / REFERENCES)
    train_spans(prompts, folder / labeller.MODEL, progress=progress)
    (folder / "SOURCE").write_text(f"{fingerprint()}\n", "ascii")


def fingerprint() -> str:
    """A hash of all that the models are made of: labelled prompts, features, vocabulary, the trainer's settings."""
    package = MODELS.parent
    sources = [
        *sorted(FOLDER.rglob("*.yaml")),
        *(
            package / "reading" / name
            for name in (
                "token_features.py",
                "tokens.py",
                "labels.py",
                "request.py",
                "sentences.py",
                "items.py",
                "references.py",
            )
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
