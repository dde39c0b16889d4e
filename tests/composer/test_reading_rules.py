"""The rules that follow the labeller, on labels that are given: no test here hangs on what the model has learned."""

import pytest

from checklist_composer.language import language_of
from checklist_composer.reading.conditions import Triggers
from checklist_composer.reading.doubt import Passage, in_own_words, is_hard_to_read, passages_of
from checklist_composer.reading.items import items_of
from checklist_composer.reading.labels import ITEMS, Label, LabelledSpan
from checklist_composer.reading.repairs import repaired
from checklist_composer.reading.sentences import Sentences
from checklist_composer.reading.steps import step_of
from checklist_composer.reading.tokens import TokenizedText
from checklist_crds.template_types import StepType
from checklist_dev.composer_training.labelled_prompts import labelled_prompt

Labelled = tuple[TokenizedText, list[LabelledSpan]]


def tagged(text: str, language: str = "en", confidence: float = 1.0) -> Labelled:
    """A prompt and its spans, as the tags of the training prompts mark them."""
    prompt = labelled_prompt({"id": "x", "lang": language, "class": "plain", "checklist": True, "text": text})
    tokens = TokenizedText(language_of(prompt.language), prompt.text)
    spans = []
    for span in prompt.spans:
        inside = [at for at, token in enumerate(tokens.tokens) if token.start < span.end and token.end > span.start]
        spans.append(LabelledSpan(span.label, inside[0], inside[-1] + 1, confidence))
    return tokens, spans


def passages(tokens: TokenizedText, spans: list[LabelledSpan], certainty: list[float]) -> list[Passage]:
    return passages_of(tokens, spans, Sentences(tokens), certainty)


def told(labelled: Labelled) -> list[str]:
    tokens, spans = labelled
    return [f"{span.label}: {tokens.slice(span.start, span.end)}" for span in spans]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "<yes>Lights off</yes>. <set>Firing time in minutes</set>.",
            ["yes: Lights off", "num: Firing time in minutes"],
        ),
        ("<yes>Lamp on</yes>. Is <yes>there damage</yes>?", ["yes: Lamp on", "yes: Is there damage"]),
        ("<set>Takes 10 minutes</set>. <yes>Lights off</yes>", ["set: Takes 10 minutes", "yes: Lights off"]),
        (
            "<name>Kiln</name>. <name>Door sealed</name>: <opts>yes/no</opts>",
            ["name: Kiln", "yes: Door sealed", "opts: yes/no"],
        ),
        ("<yes>Seal tested at</yes> <num>how many bar</num>?", ["num: Seal tested at how many bar"]),
        ("<txt>Dome</txt>: <yes>any marks</yes>? <yes>Lamp on</yes>", ["yes: Dome: any marks", "yes: Lamp on"]),
        (
            "- <yes>Lamp on</yes>\n- Shows today: <opts>Stars, Moon</opts>",
            ["yes: Lamp on", "one: Shows today", "opts: Stars, Moon"],
        ),
        (
            "<many>Bins</many>: <opts>glass, tin</opts> (<yes>tick all that apply</yes>)",
            ["many: Bins", "opts: glass, tin"],
        ),
        (
            "<one>Smell</one>: <opts>a, b</opts>. <if>If it is</if> <opts>a or b</opts>: <txt>why</txt>",
            ["one: Smell", "opts: a, b", "if: If it is a or b", "txt: why"],
        ),
        ("<yes>Repaired</yes>? <if>If not</if>, why not?", ["yes: Repaired", "if: If not", "txt: why not"]),
        (
            "<yes>Radio tested</yes>. <each>Cabins 1, 2 and 3 clean</each>.",
            ["yes: Radio tested", "yes: Cabins 1, 2 and 3 clean"],
        ),
    ],
)
def test_labels_that_contradict_each_other_lose_nothing(text: str, wanted: list[str]) -> None:
    tokens, spans = tagged(text)
    assert told((tokens, repaired(tokens, spans, Sentences(tokens)))) == wanted


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("fr", "<yes>Rampe fonctionne</yes> ? <if>Si elle ne fonctionne pas</if>, <yes>appeler</yes>", False),
        ("fr", "<yes>Rampe fonctionne</yes> ? <if>Si elle fonctionne</if>, <yes>appeler</yes>", True),
        ("en", "<yes>Vent open</yes>? <if>If it is closed</if>, <yes>open it</yes>", False),
        ("es", "<yes>Ventilación abierta</yes>? <if>Si está cerrada</if>, <yes>abrirla</yes>", False),
        ("en", "<yes>Vent open</yes>? <if>If it is new</if>, <photo>photo</photo>", None),
        (
            "en",
            "<num>Hours</num>\n<if>over 20</if>: <yes>oil</yes>\n<yes>Clean</yes>? <if>Otherwise</if> <txt>why</txt>",
            False,
        ),
    ],
)
def test_a_condition_names_the_answer_that_its_words_state(language: str, text: str, wanted: bool | None) -> None:
    tokens, spans = tagged(text, language)
    items = items_of(tokens, spans, Sentences(tokens))
    triggers = Triggers(tokens, items)
    found = [triggers.of(span) for span in spans if span.label is Label.IF][-1]
    assert (found.tests[0].value if found else None) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<geo>Position of the panel</geo>: <opts>top, middle, bottom</opts>", StepType.CHOICE),
        ("<txt>Room</txt> (<range>1 to 5</range>)", StepType.NUMBER),
        ("<yes>Drift in seconds per day</yes>", StepType.NUMBER),
        ("<yes>Filters clean</yes>? Number of moths", StepType.BOOLEAN),
        ("<yes>Guests</yes> (number)", StepType.NUMBER),
        ("<many>Racks washed</many>: <opts>a, b</opts>", StepType.MULTI_CHOICE),
    ],
)
def test_details_say_what_kind_of_answer_is_asked_for(text: str, wanted: StepType) -> None:
    tokens, spans = tagged(text)
    assert step_of(tokens, items_of(tokens, spans, Sentences(tokens))[0]).type is wanted


def test_a_passage_that_was_not_understood_stays_in_its_own_words() -> None:
    text = "<yes>Doors shut</yes>, <num>oil</num> <if>if low</if> <yes>top up</yes>. <name>Van</name>"
    tokens, spans = tagged(text)
    outside = [0.0] * len(tokens)
    sure = [1.0] * len(tokens)
    assert in_own_words(tokens, spans, passages(tokens, spans, sure), outside, hard=False) == spans
    unsure = [0.2 if tokens.tokens[at].text == "low" else 1.0 for at in range(len(tokens))]
    found = in_own_words(tokens, spans, passages(tokens, spans, unsure), outside, hard=False)
    assert told((tokens, found)) == ["yes: Doors shut", "txt: oil if low top up", "name: Van"]
    assert [span.confidence for span in found if span.label in ITEMS] == [1.0, 0.0]
    step = step_of(tokens, items_of(tokens, found, Sentences(tokens))[1])
    assert (step.type, step.required, step.photo) == (StepType.TEXT, False, (0, None))


def test_words_that_ask_for_nothing_become_no_step_however_unsure_their_labels_are() -> None:
    tokens, spans = tagged("<yes>Doors shut</yes>, the boss has been away since Monday. <yes>Lamp on</yes>")
    unsure = [0.6] * len(tokens)
    assert is_hard_to_read(passages(tokens, spans, unsure))
    assert not is_hard_to_read(passages(tokens, spans, [0.9] * len(tokens)))
    outside = [0.0 if any(span.start <= at < span.end for span in spans) else 0.7 for at in range(len(tokens))]
    found = in_own_words(tokens, spans, passages(tokens, spans, unsure), outside, hard=True)
    assert told((tokens, found)) == ["txt: Doors shut", "txt: Lamp on"]
