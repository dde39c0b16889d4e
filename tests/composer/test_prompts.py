"""What holds for any prompt that asks for a checklist, in any wording (docs/generating.md, "The composer").

No test hangs on how one sentence is read: the reader is trained, and how well it reads is measured with unseen batches.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from checklist_composer.composing import Composition, NothingToCompose, compose
from checklist_composer.draft import Draft, DraftSection, DraftStep
from checklist_composer.explanation import explanation
from checklist_composer.finishing import finish
from checklist_crds.resources.step_condition import Comparison, Condition
from checklist_crds.resources.template_definition import Step, StepType
from checklist_dev.evaluation.cases import load_cases

STATES = {
    "en": "Lights off|Back door locked|Alarm set|Floor clean|Windows closed|Bins empty|Heater off|Tables clean",
    "de": "Licht aus|Hintertür abgeschlossen|Alarm scharf|Boden sauber|Fenster geschlossen|Heizung aus|Tische sauber",
    "es": "Luces apagadas|Puerta cerrada|Alarma activada|Suelo limpio|Ventanas cerradas|Mesas limpias",
    "fr": "Lumières éteintes|Porte fermée|Alarme activée|Sol propre|Fenêtres fermées|Tables propres",
}
HEADS = {"en": "Checklist:", "de": "Checkliste:", "es": "Lista de control:", "fr": "Liste de contrôle :"}
MARKS = ("- ", "* ", "• ", "{n}. ", "{n}) ", "[ ] ", "- [ ] ", "☐ ")


@cache
def written() -> list[tuple[str, Composition]]:
    """All prompts of the evaluation of which a template is made, and what is made of them."""
    made = []
    for case in load_cases():
        try:
            made.append((case.prompt, compose(case.prompt)))
        except NothingToCompose:
            continue
    return made


def steps_of(prompt: str) -> list[Step]:
    return [step for _, step in compose(prompt).definition.steps()]


def words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def comparisons(condition: Condition | None) -> Iterator[Comparison]:
    if condition is not None:
        yield from condition.when.any or condition.when.all or [Comparison.model_validate(condition.when.model_dump())]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("language", STATES)
def test_every_item_of_a_tidy_list_is_a_step_in_its_order(language: str, mark: str) -> None:
    chosen = random.Random(language + mark)
    for line_end in ("\n", "\r\n"):
        items = chosen.sample(STATES[language].split("|"), 5)
        lines = [HEADS[language], *(mark.format(n=number) + item for number, item in enumerate(items, 1))]
        made = compose(line_end.join(lines))
        assert made.locale == language
        assert [words(step.label) for _, step in made.definition.steps()] == [words(item) for item in items]
        ids = [step.id for _, step in made.definition.steps()]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("language", STATES)
def test_headings_of_a_tidy_list_are_its_sections(language: str) -> None:
    one, two, three, four = STATES[language].split("|")[:4]
    made = compose(f"# Alpha\n- {one}\n- {two}\n\n# Omega\n- {three}\n- {four}\n").definition
    assert [words(section.title) for section in made.sections] == ["alpha", "omega"]
    assert [[words(step.label) for step in section.steps] for section in made.sections] == [
        [words(one), words(two)],
        [words(three), words(four)],
    ]


LIMITS = {
    "en": "- Door closed\n- Fridge temperature in °C ({})\n- Floor clean",
    "de": "- Tür geschlossen\n- Kühlschranktemperatur in °C ({})\n- Boden sauber",
    "es": "- Puerta cerrada\n- Temperatura de la nevera en °C ({})\n- Suelo limpio",
    "fr": "- Porte fermée\n- Température du frigo en °C ({})\n- Sol propre",
}


@pytest.mark.parametrize("limit", ["max. 7 °C", "2-7 °C", "< 7 °C"])
@pytest.mark.parametrize("language", LIMITS)
def test_a_limit_is_shown_to_the_reader_and_refuses_no_answer(language: str, limit: str) -> None:
    (measured,) = (each for each in steps_of(LIMITS[language].format(limit)) if each.type is StepType.NUMBER)
    assert (measured.config.min, measured.config.max, measured.config.unit) == (None, None, "°C")
    assert "7" in (measured.hint or "")


def test_no_number_of_any_prompt_becomes_a_bound() -> None:
    numbers = 0
    for prompt, made in written():
        for _, step in made.definition.steps() if not made.domains else ():
            if step.type is StepType.NUMBER:
                numbers += 1
                assert (step.config.min, step.config.max) == (None, None), prompt
    assert numbers > 100


CONDITIONS = {
    "en": "Van check:\n- Is the windscreen damaged? If yes, take a photo of it.\n- Doors closed",
    "de": "Transporter:\n- Ist die Scheibe beschädigt? Wenn ja, Foto davon.\n- Türen geschlossen",
    "es": "Furgoneta:\n- ¿Está dañado el parabrisas? Si es así, foto del daño.\n- Puertas cerradas",
    "fr": "Camionnette :\n- Le pare-brise est-il abîmé ? Si oui, photo du dommage.\n- Portes fermées",
}


@pytest.mark.parametrize("language", CONDITIONS)
def test_what_depends_on_an_answer_applies_with_it_only(language: str) -> None:
    question, photo, doors = steps_of(CONDITIONS[language])
    assert (question.type, photo.type) == (StepType.BOOLEAN, StepType.PHOTO)
    assert [(part.step, part.value) for part in comparisons(photo.condition)] == [(question.id, True)]
    assert question.condition is None is doors.condition


def test_a_condition_of_any_prompt_looks_at_earlier_steps_only() -> None:
    found = 0
    for prompt, made in written():
        earlier: set[str] = set()
        for _, step in made.definition.steps():
            for part in comparisons(step.condition):
                found += 1
                assert part.step in earlier, prompt
            earlier.add(step.id)
    assert found > 50


OPEN = {StepType.TEXT, StepType.PHOTO, StepType.SIGNATURE, StepType.CHOICE, StepType.MULTI_CHOICE}
DOUBTED = 0.4
"""Below it the composer is not sure what kind of answer is asked for."""


def test_what_is_uncertain_in_any_prompt_takes_an_answer_in_words() -> None:
    doubted = 0
    for prompt, made in written():
        types = {step.id: step.type for _, step in made.definition.steps()}
        for source in made.sources:
            if source.confidence < DOUBTED:
                doubted += 1
                assert types[source.step_id] in OPEN, prompt
    assert doubted > 3


def test_each_step_of_any_prompt_tells_the_words_that_it_was_made_of() -> None:
    own = [(prompt, made) for prompt, made in written() if not made.domains]
    assert len(own) > 100
    for prompt, made in own:
        labels = {step.id: step.label for _, step in made.definition.steps()}
        assert [source.step_id for source in made.sources] == list(labels)
        for source in made.sources:
            assert source.start is not None and source.end is not None
            assert 0 <= source.start < source.end <= len(prompt)
            assert 0 <= source.confidence <= 1
            first, *_ = words(labels[source.step_id]).split()
            assert first in words(prompt[source.start : source.end]), (prompt, labels[source.step_id])
        taken = {at for source in made.sources for at in range(source.start or 0, source.end or 0)}
        for start, end in made.unused:
            assert prompt[start:end].strip() and taken.isdisjoint(range(start, end)), prompt


def test_a_step_below_the_documented_confidence_is_unsure() -> None:
    made = compose("Checklist:\n- Lights off\n- Alarm set\n- Floor clean")
    first, second, _ = made.sources
    sources = (replace(first, confidence=0.79), replace(second, confidence=0.8))
    steps = explanation(made.definition, sources, (), "")["steps"]
    assert [(each["confidence"], each["unsure"]) for each in steps] == [(0.79, True), (0.8, False), (None, False)]


@pytest.mark.parametrize(
    "prompt",
    [
        "Write me a poem about the sea",
        "How do I bake a chocolate cake?",
        "Can you translate this letter into French please?",
        "Schreib mir bitte ein Gedicht über den Herbst",
        "Wie wird das Wetter morgen in Berlin?",
        "¿Cuál es la capital de Francia?",
        "Escríbeme un poema sobre el mar",
        "Écris-moi un poème sur la mer",
        "Quelle est la capitale de l'Espagne ?",
        "?!?! ...",
        "checklist for my spaceship",
        "llama shearing day checklist",
        "Windrad Inspektion",
        "Kannst du mir das folgende Formular bitte ins Polnische übersetzen?\n- Gerüst fest\n- Unterschrift",
        "Écris-moi un poème pour notre régisseuse, qui cochait chaque case : lumières, issues, piano.",
    ],
)
def test_what_asks_for_no_checklist_or_for_an_unknown_one_is_refused_in_a_sentence(prompt: str) -> None:
    with pytest.raises(NothingToCompose, match=r"^[A-Z].+\.$") as refused:
        compose(prompt)
    assert prompt not in str(refused.value)


@pytest.mark.parametrize("language", STATES)
def test_a_prompt_tells_its_language_and_is_not_translated(language: str) -> None:
    prompt = "\n".join([HEADS[language], *(f"- {item}" for item in STATES[language].split("|"))])
    for asked in STATES:
        assert compose(prompt, locale=asked) == compose(prompt)
    assert compose("forklift", locale=language).locale == language


def test_a_choice_of_nothing_visible_is_a_text() -> None:
    step = DraftStep("Which?", StepType.MULTI_CHOICE, options=["\u2028", " "])
    made = finish(Draft("en", sections=[DraftSection("Part", [step])])).definition
    assert [step.type for _, step in made.steps()] == [StepType.TEXT]
