"""What a supposition looks at and which answer it waits for: its sign is worse to miss than the step itself."""

import pytest
from tests.composer.composed import depends, step, template


@pytest.mark.parametrize(
    ("prompt", "consequence", "source", "answer"),
    [
        ("Is the valve open? If it is closed, open it.", "Open it", "valve", False),
        ("Is the corridor clear? If it's obstructed, move the boxes.", "Move", "corridor", False),
        ("Is the corridor clear? If it's jammed, move the boxes.", "Move", "corridor", False),
        ("Is the lid loose? If it is tight, loosen it.", "Loosen", "lid", False),
        ("Is the lid loose? If it is loose, fasten it.", "Fasten", "lid", True),
        ("Ist der Gang frei? Wenn er verstellt ist, den Hausmeister rufen.", "Den Hausmeister", "Gang", False),
        ("¿La ventana está cerrada? Si está abierta, cerrarla.", "Cerrarla", "ventana", False),
        ("La porte est-elle fermée ? Si elle est ouverte, prévenir le gardien.", "Prévenir", "porte", False),
    ],
)
def test_the_contrary_of_what_was_asked_means_no(prompt: str, consequence: str, source: str, answer: bool) -> None:
    definition = template(prompt)
    label, operator, value = depends(definition, step(definition, consequence))
    assert source in label
    assert (operator, value) == ("eq", answer)


@pytest.mark.parametrize(
    ("prompt", "consequence", "source", "answer"),
    [
        ("Look for stains on the carpet. If there is a stain, call the laundry.", "Call", "stains", True),
        ("Check the hose for leaks. If there is a leak, call the plumber.", "Call", "leaks", True),
        ("Check the hose for leaks. If there is no leak, open the tap.", "Open", "leaks", False),
        ("Loose ropes on deck four stowed. If a loose rope can't be stowed, tell Ada.", "Tell", "ropes", False),
        ("Leaks? Then call the plumber.", "Call", "Leaks", True),
        ("Leckagen? Dann den Installateur rufen.", "Den Installateur", "Leckagen", True),
        ("Lights off. Are any books missing? If any are missing, tell Ada.", "Tell", "books", True),
        ("Luces apagadas. ¿Falta algún libro? Si falta alguno, avisar a Ada.", "Avisar", "libro", True),
    ],
)
def test_what_is_looked_for_is_there_or_not(prompt: str, consequence: str, source: str, answer: bool) -> None:
    definition = template(prompt)
    label, operator, value = depends(definition, step(definition, consequence))
    assert source in label
    assert (operator, value) == ("eq", answer)


def test_more_than_none_was_counted_when_any_is_supposed() -> None:
    definition = template("Number of loose rivets, paint dry. If any rivet is loose, close the lane.")
    assert depends(definition, step(definition, "Close")) == ("Number of loose rivets", "gt", 0)


def test_a_case_in_front_of_a_colon_is_of_the_number_before() -> None:
    definition = template("- Height in metres\n- from 3 m: rope fixed?\n- Rungs whole")
    assert depends(definition, step(definition, "Rope")) == ("Height", "gte", 3)
    definition = template("Read the incubator temperature, 36 to 38 °C. Out of range: call Ada.")
    assert len(list(definition.steps())) == 2
    condition = step(definition, "Call Ada").condition
    assert condition is not None and condition.when.any is not None
    assert [(each.op.value, each.value) for each in condition.when.any if each.op] == [("lt", 36), ("gt", 38)]


def test_then_behind_a_question_with_a_verb_goes_on() -> None:
    definition = template("Is the door closed? Then go to the kitchen.")
    assert step(definition, "Go to the kitchen").condition is None
