"""What a valid template of a model may do harm with: how that is found, told to the model, and mended."""

from typing import Any

import pytest
from tests.generation.conftest import StartModel
from tests.generation.model_server import fails, says, stays_silent

from checklist_api.generation.model_check import judgement
from checklist_api.generation.model_failures import Reason
from checklist_crds.template_types import Definition
from checklist_crds.template_validation import parse_definition


def template(name: str, *lines: str) -> dict[str, Any]:
    """`number °C: Label {hint} min=2 max=8 if 1 true`: a condition names the step by its number and the answer."""
    steps: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        kind, _, rest = line.partition(": ")
        rest, _, condition = rest.partition(" if ")
        words = rest.split()
        bounds = dict(word.split("=") for word in words if word.startswith(("min=", "max=")))
        label, _, hint = " ".join(word for word in words if "=" not in word).partition(" {")
        kind, _, more = kind.partition(" ")
        config: dict[str, Any] = {name: float(value) for name, value in bounds.items()}
        if kind == "choice":
            config["options"] = [{"id": f"o-{at}", "label": each} for at, each in enumerate(more.split("/"), 1)]
        elif more:
            config["unit"] = more
        step = {"id": f"s-{number}", "type": kind, "label": label, "required": True, "config": config}
        if hint:
            step["hint"] = hint.rstrip("}")
        if condition:
            source, answer = condition.split()
            value: object = {"true": True, "false": False}.get(answer, answer)
            step["condition"] = {"when": {"step": f"s-{source}", "op": "eq", "value": value}}
        steps.append(step)
    return {"name": name, "sections": [{"id": "g-1", "title": "Checklist", "steps": steps}]}


def harms(prompt: str, made: dict[str, Any]) -> list[str]:
    return [harm.problem for harm in judgement(parse_definition(made), prompt, None).harms]


def mended(prompt: str, made: dict[str, Any]) -> dict[str, Any]:
    definition = judgement(parse_definition(made), prompt, None).mended
    assert isinstance(definition, Definition)
    assert parse_definition(definition.to_tdl(), strict=True) == definition
    return {step.label: step for _, step in definition.steps()}


VAN = "Van check: tyres ok, lights ok, mirrors clean. Fridge temperature in °C (max. 7 °C). Signature of the driver."
VAN_STEPS = ("boolean: Are the tyres fine?", "boolean: Lights work", "boolean: Clean mirrors")
FRIDGE = "number °C: Temperature of the fridge"


@pytest.mark.parametrize(
    ("prompt", "made"),
    [
        (VAN, template("Van", *VAN_STEPS, f"{FRIDGE} {{At most 7}} min=-30 max=60", "signature: Driver")),
        (VAN, template("Van", *VAN_STEPS, FRIDGE, "text: What is wrong with the tyres? if 1 false", "signature: Sign")),
        (  # a translation is looked at for its limits only
            VAN,
            template("Lieferwagen", "boolean: Sind die Reifen in Ordnung?", "number °C: Temperatur im Kühlschrank"),
        ),
        (  # the composer does not know the language
            "Furgone: pneumatici ok, luci ok, specchi puliti. Ci sono danni? Se sì, una foto e una descrizione.",
            template("Furgone", "boolean: Ci sono danni?", "photo: Fotografare if 1 true"),
        ),
        (
            "Orgelwartung: Raumtemperatur in °C. Winddruck messen (Soll 75 mmWS). Schimmel sichtbar? Wenn ja, ein Foto "
            "machen. Zustand der Bälge: dicht, undicht. Bemerkungen (freiwillig). Unterschrift Küster.",
            template(
                *("Orgel", "number °C: Temperatur im Raum", "number mmWS: Winddruck {Soll: 75}"),
                *("boolean: Ist Schimmel zu sehen?", "photo: Schimmel fotografieren if 3 true"),
                *("choice dicht/undicht: Wie sind die Bälge?", "text: Anmerkungen", "signature: Küster"),
            ),
        ),
        (
            "Control de la almazara: 1. Fecha 2. Temperatura de la batidora (máximo 27 °C) 3. ¿La centrífuga vibra? Si "
            "vibra, describir qué se nota. 4. Firma del maestro",
            template(
                *("Almazara", "date: Fecha del turno", "number °C: Batidora: temperatura {Máx. 27 °C}"),
                *("boolean: ¿Vibra la centrífuga?", "text: Describe lo que notas if 3 true", "signature: Maestro"),
            ),
        ),
        (
            "Chauffe : joint étanche ? Si non, refaire le joint. Odeur : nette, brûlée. Température d'eau, 15 à 20 °C.",
            template(
                *("Chauffe", "boolean: Le joint est-il étanche ?", "boolean: Joint refait if 1 false"),
                *("choice nette/brûlée: Quelle odeur ?", "number °C: Eau {15 à 20 °C}"),
            ),
        ),
        (
            "Tasting: rate the taste from 0 to 100. Number of guests.",
            template("Tasting", "number: Taste min=0 max=100", "number: How many guests? min=0"),
        ),
    ],
)
def test_a_good_template_in_other_words_does_no_harm(prompt: str, made: dict[str, Any]) -> None:
    assert harms(prompt, made) == []


def test_a_lost_item_is_told_and_added_where_it_belongs_for_nobody_to_answer() -> None:
    made = template("Van", "boolean: Tyres", "boolean: Lights", FRIDGE, "signature: Driver")
    assert harms(VAN, made) == ["The wish asks for 'mirrors clean', and no step does: add one that says so."]
    steps = mended(VAN, made)
    assert [*steps][1:4] == ["Lights", "Mirrors clean", "Temperature of the fridge"]
    assert (steps["Mirrors clean"].type, steps["Mirrors clean"].required) == ("text", False)
    without = judgement(parse_definition(template("Van", "boolean: Tyres", "text: Remarks")), VAN, None)
    assert without.mended is None, "three of five are lost"


@pytest.mark.parametrize(
    ("prompt", "made", "hint"),
    [
        (VAN, f"{FRIDGE} min=-30 max=7", "Expected: max. 7 °C"),
        (VAN, f"{FRIDGE} max=6", "Expected: max. 7 °C"),
        (VAN, f"{FRIDGE} {{Must be below 7}} max=7", "Must be below 7"),
        (VAN, "number °C: Temperatur im Kühlschrank max=7", "Erwartet: max. 7 °C"),
        ("Kühlhaus: Temperatur 2 bis 8 °C. Tür zu.", "number °C: Temperatur min=2 max=8", "Erwartet: 2 bis 8 °C"),
    ],
)
def test_a_limit_as_a_bound_becomes_a_hint_in_the_templates_language(prompt: str, made: str, hint: str) -> None:
    others = ("boolean: Ist die Tür zu?",) if "Temperatur " in made else (*VAN_STEPS, "signature: Driver")
    whole = template("Kontrolle", made, *others)
    (problem,) = harms(prompt, whole)
    assert "sections[0].steps[0].config: " in problem
    step = next(iter(mended(prompt, whole).values()))
    assert (step.hint, step.config.max) == (hint, None)
    assert step.config.min in (None, -30)


def test_a_condition_on_nothing_is_taken_away_and_the_step_is_no_longer_required() -> None:
    made = template(
        "Van", "boolean: Tyres", "boolean: Lights if 1 true", "boolean: Mirrors", FRIDGE, "signature: Driver"
    )
    (problem,) = harms(VAN, made)
    assert problem.startswith("sections[0].steps[1].condition: the wish asks for this in any case")
    step = mended(VAN, made)["Lights"]
    assert (step.condition, step.required) == (None, False)


def test_a_condition_on_another_step_than_the_prompt_names_becomes_words() -> None:
    prompt = "Room: family name. Candles lit. Flowers: delivered, missing. If flowers are missing, call the gardener."
    steps = ("text: Family name", "boolean: Are the candles lit?", "choice delivered/missing: Flowers")
    assert harms(prompt, template("Room", *steps, "boolean: Gardener called if 3 o-2")) == []
    made = template("Room", *steps, "boolean: Gardener called if 2 false")
    (problem,) = harms(prompt, made)
    assert "'If flowers are missing', and that is not about the step" in problem
    step = mended(prompt, made)["Gardener called"]
    assert (step.condition, step.required, step.hint) == (None, False, "If flowers are missing")


GOOD = template("Van", *VAN_STEPS, FRIDGE, "signature: Driver")
BOUND = template("Van", *VAN_STEPS, f"{FRIDGE} max=7", "signature: Driver")
EMPTY = template("Van", "boolean: Are you ready?")


async def test_harm_is_told_to_the_model_and_the_corrected_template_is_taken(model: StartModel) -> None:
    async with model(says(BOUND), says(GOOD)) as it:
        assert [step.config.max for _, step in (await it.makes(VAN)).steps()] == [None] * 5
    assert "'max. 7 °C' is what the wish expects" in it.server.asked[1].said


@pytest.mark.parametrize("then", [says(BOUND), says("no"), says(EMPTY), fails("500 Oops"), stays_silent])
async def test_what_the_model_does_not_correct_is_mended_whatever_happens_then(model: StartModel, then: Any) -> None:
    async with model(says(BOUND), then, timeout_s=1) as it:
        made = await it.makes(VAN)
    step = next(step for _, step in made.steps() if step.config.unit)
    assert (step.hint, step.config.max) == ("Expected: max. 7 °C", None)
    assert it.counted("checklists_model_prompts_total", outcome="template") == 1


async def test_the_composer_answers_where_too_much_is_lost(model: StartModel) -> None:
    async with model(says(EMPTY)) as it:
        assert await it.fails(VAN) is Reason.INCOMPLETE
    assert len(it.server.asked) == 3
