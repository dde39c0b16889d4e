"""What `listen` was told to answer."""

import pytest

from checklist_cli.answer_script import Answer, AnswerScript


def test_answers_go_by_attempt_and_the_last_one_stands_for_all_that_follow() -> None:
    script = AnswerScript.parse("500, 503@2,drop,200@0.5s", delay_s=1.0)
    answers = [script.for_attempt(number) for number in range(1, 7)]
    assert answers == [
        Answer(500, 1.0),
        Answer(503, 2.0),
        Answer(None, 1.0),
        Answer(200, 0.5),
        Answer(200, 0.5),
        Answer(200, 0.5),
    ]


@pytest.mark.parametrize("number", [-1, 0, 1])
def test_a_number_of_attempt_that_cannot_be_gets_the_first_answer(number: int) -> None:
    assert AnswerScript.parse("500,200").for_attempt(number).status == 500


@pytest.mark.parametrize("text", ["", "100", "199", "600", "20", "200,", "ok", "200@", "200@-1", "200@x", "2OO"])
def test_another_text_is_no_script(text: str) -> None:
    with pytest.raises(ValueError, match="is no answer"):
        AnswerScript.parse(text)


def test_only_2xx_accepts() -> None:
    accepting = [text for text in ("200", "204", "299", "300", "400", "500", "drop") if only_answer(text).accepts]
    assert accepting == ["200", "204", "299"]


def only_answer(text: str) -> Answer:
    return AnswerScript.parse(text).for_attempt(1)
