"""The rules that follow the labeller, on labels that are given: only what a condition refers to is learned here."""

import pytest

from checklist_composer.language import language_of
from checklist_composer.reading.conditions import Triggers
from checklist_composer.reading.doubt import Certainty, in_own_words
from checklist_composer.reading.items import items_of
from checklist_composer.reading.labeller import Labelled as LabelledPrompt
from checklist_composer.reading.labels import ITEMS, Label, LabelledSpan
from checklist_composer.reading.reader import read_labelled
from checklist_composer.reading.repairs import repaired
from checklist_composer.reading.sentences import Sentences
from checklist_composer.reading.steps import step_of
from checklist_composer.reading.tables import table_spans
from checklist_composer.reading.tokens import TokenizedText
from checklist_crds.resources.template_definition import StepType
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


def certain(
    tokens: TokenizedText,
    spans: list[LabelledSpan],
    *,
    label: float = 1.0,
    outside: float = 1.0,
) -> Certainty:
    """The same certainty of every label; `outside`: of words in no span."""
    inside = {at for span in spans for at in range(span.start, span.end)}
    begins = {span.start for span in spans if span.label in ITEMS}
    places = range(len(tokens))
    return Certainty(
        [label] * len(tokens),
        [0.0 if at in inside else outside for at in places],
        [float(at in begins) for at in places],
    )


def spans_of(labelled: Labelled) -> list[str]:
    tokens, spans = labelled
    return [f"{span.label}: {tokens.slice(span.start, span.end)}" for span in spans]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "<yes>Lights off</yes>. <set>Firing time in minutes</set>.",
            ["yes: Lights off", "num: Firing time in minutes"],
        ),
        ("<set>Takes 10 minutes</set>. <yes>Lights off</yes>", ["set: Takes 10 minutes", "yes: Lights off"]),
        (
            "<name>Kiln</name>. <name>Door sealed</name>: <opts>yes/no</opts>",
            ["name: Kiln", "yes: Door sealed", "opts: yes/no"],
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
            ["yes: Radio tested", "txt: Cabins 1, 2 and 3 clean"],
        ),
        ("<yes>Lamp on</yes>. All padlocks <yes>locked</yes>", ["yes: Lamp on", "yes: padlocks locked"]),
        ("<txt>Boat number</txt> (<scan>scan the tag</scan>)", ["scan: Boat number"]),
        (
            "<yes>Bin emptied</yes>, <limit>fridge below 5 °C</limit>",
            ["yes: Bin emptied", "num: fridge", "limit: below 5 °C"],
        ),
        (
            "<one>Rank</one>: <txt>Open Water</txt>, <opts>Rescue or Master</opts>",
            ["one: Rank", "opts: Open Water, Rescue or Master"],
        ),
        (
            "<txt>Air</txt>: <num>heat</num>, <num>damp</num>\n"
            "<sec>Pests</sec>: <yes>fly</yes>, <yes>mite</yes>, <yes>ant</yes>",
            ["sec: Air", "num: heat", "num: damp", "sec: Pests", "yes: fly", "yes: mite", "yes: ant"],
        ),
    ],
)
def test_labels_that_contradict_each_other_lose_nothing(text: str, wanted: list[str]) -> None:
    tokens, spans = tagged(text)
    assert spans_of((tokens, repaired(tokens, spans, Sentences(tokens)))) == wanted


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("fr", "<yes>Rampe fonctionne</yes> ? <if>Si elle ne fonctionne pas</if>, <yes>appeler</yes>", False),
        ("fr", "<yes>Rampe fonctionne</yes> ? <if>Si elle fonctionne</if>, <yes>appeler</yes>", True),
        ("en", "<yes>Vent open</yes>? <if>If it is closed</if>, <yes>open it</yes>", False),
        ("es", "<yes>Ventilación abierta</yes>? <if>Si está cerrada</if>, <yes>abrirla</yes>", False),
        ("en", "<yes>Vent open</yes>? <if>If it is new</if>, <photo>photo</photo>", None),
        ("es", "<yes>¿Vibra la bomba?</yes> <if>Si vibra</if>, <txt>describir</txt>", True),
        ("es", "<yes>Hay piedras</yes>? <if>Si hay</if>, <photo>foto</photo>", True),
        (
            "de",
            "<num>Tiefe</num> (<limit>mindestens 30</limit>). <if>Falls ein Mangel da ist</if> <photo>Foto</photo>",
            None,
        ),
        (
            "fr",
            "<one>Test</one> : <opts>conforme / non conforme</opts>. <if>Si non conforme</if>, <yes>jeter</yes>",
            "Non conforme",
        ),
        (
            "en",
            "<num>Hours</num>\n<if>over 20</if>: <yes>oil</yes>\n<yes>Clean</yes>? <if>Otherwise</if> <txt>why</txt>",
            False,
        ),
    ],
)
def test_a_condition_names_the_answer_that_its_words_state(language: str, text: str, wanted: bool | str | None) -> None:
    tokens, spans = tagged(text, language)
    items = items_of(tokens, spans, Sentences(tokens))
    triggers = Triggers(tokens, items, Sentences(tokens))
    found = [triggers.of(span) for span in spans if span.label is Label.IF][-1]
    assert (found.tests[0].value if found else None) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<geo>Position of the panel</geo>: <opts>top, middle, bottom</opts>", StepType.CHOICE),
        ("<txt>Room</txt> (<range>1 to 5</range>)", StepType.NUMBER),
        ("<yes>Water in the tank</yes> <limit>at least 20</limit>", StepType.NUMBER),
        ("<yes>Water in the tank</yes> <limit>at least half</limit>", StepType.TEXT),
        ("<yes>Filters clean</yes>? Number of moths", StepType.BOOLEAN),
        ("<yes>Guests</yes> (number)", StepType.NUMBER),
        ("<many>Racks washed</many>: <opts>a, b</opts>", StepType.MULTI_CHOICE),
        ("<one>Areas</one> (<opts>path, stairs - tick all that apply</opts>)", StepType.MULTI_CHOICE),
        ("<one>Vests</one> <opts>dry, fee paid</opts>", StepType.TEXT),
        ("<one>Levels</one>: <opts>soap ___ %, wax ___ %</opts>", StepType.TEXT),
        ("<one>Rope for each bell</one> (<opts>first, second</opts>): <opts>good, worn</opts>", StepType.TEXT),
        ("<one>Locked</one>: <opts>yes/no</opts>", StepType.BOOLEAN),
        ("<yes>Test ride done by</yes>", StepType.TEXT),
        ("<yes>which one?</yes>", StepType.TEXT),
        ("<info>Stop the pump and describe the leak</info>", StepType.TEXT),
    ],
)
def test_details_say_what_kind_of_answer_is_asked_for(text: str, wanted: StepType) -> None:
    tokens, spans = tagged(text)
    assert step_of(tokens, items_of(tokens, spans, Sentences(tokens))[0]).type is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # The head of a block, with a condition inside, up to the empty line.
        (
            "<each>For each of tanks 1 and 2</each>:\n- <num>Level</num>\n- <yes>Tight</yes>?\n"
            "- <if>If not</if>, <photo>photo</photo>\n\n<sign>Signature</sign>",
            [
                "Level – Tanks 1",
                "Level – Tanks 2",
                "Tight – Tanks 1",
                "Tight – Tanks 2",
                "Photo – Tanks 1 if Tight – Tanks 1",
                "Photo – Tanks 2 if Tight – Tanks 2",
                "Signature",
            ],
        ),
        # A block ends at a heading; without names, nothing is repeated.
        ("<each>For every boat</each>\n<yes>Dry</yes>\n<sec>Office</sec>\n<yes>Lamp off</yes>", ["Dry", "Lamp off"]),
        # Things behind the word for them.
        (
            "<yes>Ink checked</yes> <each>for each colour</each>: <opts>red, blue</opts>",
            ["Ink checked – Red", "Ink checked – Blue"],
        ),
        # Of a list line, those indented below it.
        (
            "- <each>For each of hives Alder and Birch</each>:\n  - <yes>Queen seen</yes>\n- <num>Frames</num>",
            ["Queen seen – Hives Alder", "Queen seen – Birch", "Frames"],
        ),
        # A long sentence that begins with it, and what depends on one of its items in the next one.
        (
            "<each>For tables A and B</each>: <num>Bags</num> that the crew of the first boat has turned so far today, "
            "<yes>Drills</yes> between the shells of the lower rows where it is muddy, and whether the "
            "<yes>Ropes</yes> of the posts are as tight as they were before the last storm. <if>If not</if>, "
            "<txt>Reason</txt>.",
            [
                "Bags – Tables A",
                "Bags – Tables B",
                "Drills – Tables A",
                "Drills – Tables B",
                "Ropes – Tables A",
                "Ropes – Tables B",
                "Reason – Tables A if Ropes – Tables A",
                "Reason – Tables B if Ropes – Tables B",
            ],
        ),
    ],
)
def test_items_are_repeated_with_what_depends_on_them(text: str, wanted: list[str]) -> None:
    tokens, spans = tagged(text)
    sentences = Sentences(tokens)
    spans = repaired(tokens, spans, sentences)
    labelled = LabelledPrompt(spans, sentences, [1.0] * len(tokens), set(), messy=False)

    steps = read_labelled(tokens, labelled).draft.steps()
    conditions = [step.condition and f" if {step.condition.comparisons[0].step.label}" for step in steps]
    assert [step.label + (condition or "") for step, condition in zip(steps, conditions, strict=True)] == wanted


def test_a_passage_that_was_not_understood_stays_in_its_own_words() -> None:
    text = "<yes>Doors shut</yes>, <num>oil</num> <if>if low</if> <yes>top up</yes>. <name>Van</name>"
    tokens, spans = tagged(text)
    sure = certain(tokens, spans)
    assert in_own_words(tokens, spans, Sentences(tokens), sure, messy=False) == spans
    labels = [0.2 if tokens.tokens[at].text == "low" else 1.0 for at in range(len(tokens))]
    unsure = Certainty(labels, sure.outside, sure.begins)
    found = in_own_words(tokens, spans, Sentences(tokens), unsure, messy=False)
    assert spans_of((tokens, found)) == ["yes: Doors shut", "txt: oil if low top up", "name: Van"]
    assert [span.confidence for span in found if span.label in ITEMS] == [1.0, 0.0]
    step = step_of(tokens, items_of(tokens, found, Sentences(tokens))[1])
    assert (step.type, step.required, step.photo) == (StepType.TEXT, False, (0, None))


@pytest.mark.parametrize(
    ("text", "outside", "wanted"),
    [
        # Chatter stays away, and what may be chatter goes with what stands before it.
        (
            "<yes>Doors shut</yes>, the boss has been away since Monday. <yes>Lamp on</yes>",
            1.0,
            ["txt: Doors shut", "txt: Lamp on"],
        ),
        (
            "<yes>Doors shut</yes>, the boss has been away since Monday. <yes>Lamp on</yes>",
            0.8,
            ["txt: Doors shut, the boss has been away since Monday", "txt: Lamp on"],
        ),
        ("My granny always said so. <yes>Lamp on</yes>", 0.9, ["info: My granny always said so", "txt: Lamp on"]),
        # What stands behind a colon, and options that have no separators, stay with what they belong to.
        (
            "<one>Fuel</one>: <opts>full half or empty</opts>, <yes>lamp on</yes>",
            1.0,
            ["txt: Fuel: full half or empty", "txt: lamp on"],
        ),
        # The lines of a list are read as in a tidy prompt.
        ("- <yes>Lamp on</yes>\n- <num>oil</num>", 1.0, ["yes: Lamp on", "num: oil"]),
        # Not wanted.
        ("<yes>Lamp on</yes>, leave out the <yes>horn</yes>", 1.0, ["txt: Lamp on"]),
    ],
)
def test_a_messy_prompt_keeps_whole_passages(text: str, outside: float, wanted: list[str]) -> None:
    tokens, spans = tagged(text)
    unsure = certain(tokens, spans, label=0.9, outside=outside)
    assert spans_of((tokens, in_own_words(tokens, spans, Sentences(tokens), unsure, messy=True))) == wanted


@pytest.mark.parametrize(
    ("language", "limit", "wanted"),
    [
        ("en", "max 7 °C", (None, 7)),
        ("en", "2.2 to 2.6 bar", (2.2, 2.6)),
        ("en", "should be 2-4", (2, 4)),
        ("en", "not below -18", (-18, None)),
        ("de", "darf nicht über 95", (None, 95)),
        ("es", "no menos de 0,5", (0.5, None)),
        ("fr", "entre 19 et 22 °C", (19, 22)),
        # Other words, a number that can be read in two ways, another unit, or no direction.
        ("en", "under 2 is bad", (None, None)),
        ("en", "should not be below 5", (None, None)),
        ("de", "max. 1.500", (None, None)),
        ("fr", "quatre-vingts maximum", (None, None)),
        ("en", "max 7 °F", (None, None)),
        ("en", "about 12", (None, None)),
    ],
)
def test_a_limit_is_expected_if_it_was_understood_in_whole(
    language: str, limit: str, wanted: tuple[float | None, float | None]
) -> None:
    tokens, spans = tagged(f"<num>Temperature</num> <unit>°C</unit>, <limit>{limit}</limit>", language)
    if "bar" in limit:
        tokens, spans = tagged(f"<num>Pressure</num>, <limit>{limit}</limit>", language)
    step = step_of(tokens, items_of(tokens, spans, Sentences(tokens))[0])
    assert step.expected == wanted
    assert limit in (step.hint or "")


def test_words_behind_a_limit_may_say_what_to_do_beyond_it() -> None:
    tokens, spans = tagged("<num>Depth</num> <limit>under 2</limit> replace the tyre")
    assert step_of(tokens, items_of(tokens, spans, Sentences(tokens))[0]).expected == (None, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "No | Item | Answer\n1 | Oil temperature | °C (max 90)\n2 | Guard | Y/N\n"
            "3 | Belt | good / worn\n4 | Tag | scan",
            [
                "num: Oil temperature",
                "unit: °C",
                "limit: max 90",
                "yes: Guard",
                "one: Belt",
                "opts: good / worn",
                "scan: Tag",
            ],
        ),
        (
            "What;How;Remark\nBelt;good / worn;worn -> photo\nGuard;Y/N;only if running\n"
            "Oil;count, tell the foreman above 5;",
            [
                "one: Belt",
                "opts: good / worn",
                "photo: worn -> photo",
                "opt: worn -> photo",
                "yes: Guard",
                "opt: only if running",
                "hint: only if running",
                "num: Oil",
                "txt: tell the foreman above 5",
            ],
        ),
        (
            "hall\tlamp on\tx\nhall\tdoor shut\tx\nyard\tgate shut\tx\nyard\tvan washed\tx",
            ["sec: hall", "yes: lamp on", "yes: door shut", "sec: yard", "yes: gate shut", "yes: van washed"],
        ),
        ("Tower | Bolt | Noise\nA07 | 2800 | S\nA08 | 2810 | N", []),
        ("Site | Depth (m) | Clear?\nNorth | |\nSouth | |", []),
        ("Doors; windows; lamps", []),
    ],
)
def test_a_table_is_read_row_by_row(text: str, wanted: list[str]) -> None:
    tokens = TokenizedText(language_of("en"), text)
    found, taken = table_spans(tokens, [])
    assert [span for span in spans_of((tokens, found)) if not span.startswith("hint: Y")] == wanted
    assert bool(taken) is bool(wanted)


def test_long_speech_is_cut_where_items_begin() -> None:
    tokens, spans = tagged("first the <yes>doors are shut</yes> then " * 12)
    found = in_own_words(tokens, spans, Sentences(tokens), certain(tokens, spans, label=0.5), messy=True)
    assert all(span.end - span.start <= 30 for span in found)
    assert sum(span.end - span.start for span in found) >= len(tokens) - 2 * len(found)
    assert {tokens.tokens[span.start].text for span in found[1:]} == {"doors"}


def test_a_farewell_ends_with_the_name_of_its_writer() -> None:
    tokens, _ = tagged("<yes>Lamp on</yes>. Thanks a million, Beatrix\n<num>Oil</num>")
    farewell = Sentences(tokens).farewell
    assert [tokens.tokens[at].text for at in sorted(farewell)] == ["Thanks", "a", "million", ",", "Beatrix"]


@pytest.mark.parametrize(
    ("text", "is_careful"),
    [
        ("Note the level, then sign. Is the tank tight?", True),
        ("Note the level, then sign. is the tank tight?", False),
        ("Note the level, then sign!", False),
        ("Hello team. Note the level, then sign.", False),
        ("Note the level, then sign", False),
    ],
)
def test_a_prompt_is_written_with_care_if_its_sentences_are(text: str, is_careful: bool) -> None:
    assert Sentences(TokenizedText(language_of("en"), text)).are_written_with_care() is is_careful
