"""The answers that `listen` is to give."""

import pytest

from checklist_cli.answer_script import Answer, AnswerScript


def test_answers_go_by_attempt_and_the_last_one_stands_for_all_that_follow() -> None:
    script = AnswerScript.parse("500, 503@2,drop,200@0.5s", delay_s=1.0)
    answers = [Answer(500, 1.0), Answer(503, 2.0), Answer(None, 1.0), Answer(200, 0.5), Answer(200, 0.5)]
    assert [script.for_attempt(number) for number in range(1, 6)] == answers
    assert [script.for_attempt(number) for number in (-1, 0)] == [answers[0]] * 2


@pytest.mark.parametrize("text", ["", "100", "199", "600", "20", "200,", "ok", "200@", "200@-1", "200@x", "2OO"])
def test_another_text_is_no_script(text: str) -> None:
    with pytest.raises(ValueError, match="is no answer"):
        AnswerScript.parse(text)


def test_only_2xx_accepts() -> None:
    texts = ("200", "204", "299", "300", "400", "500", "drop")
    accepting = [text for text in texts if AnswerScript.parse(text).for_attempt(1).accepts]
    assert accepting == ["200", "204", "299"]
