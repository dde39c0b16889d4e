"""The answers of `listen` to the attempts of an event: `500,500,200`, `204@3`, `drop`."""

import re
from dataclasses import dataclass
from typing import Final

_STEP: Final = re.compile(r"(?P<what>[2-5][0-9]{2}|drop)(?:@(?P<delay>[0-9]{1,4}(?:\.[0-9]{1,3})?)s?)?")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer `delay_s` seconds after the request. `status`: None closes the connection without one."""

    status: int | None
    delay_s: float = 0.0

    @property
    def accepts(self) -> bool:
        """Whether the sender counts it as delivered, if it is in time."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class AnswerScript:
    """Answers by attempt; the last one repeats."""

    answers: tuple[Answer, ...]

    @classmethod
    def parse(cls, text: str, *, delay_s: float = 0.0) -> "AnswerScript":
        """Parse `STATUS[@SECONDS],...`; `delay_s`: delay of steps without their own. Raises ValueError."""
        answers = []
        for part in text.split(","):
            step = _STEP.fullmatch(part.strip())
            if step is None:
                raise ValueError(
                    f"{part.strip()!r} is not an answer: a status from 200 to 599 or drop, optionally with @SECONDS"
                )
            status = None if step["what"] == "drop" else int(step["what"])
            answers.append(Answer(status, float(step["delay"]) if step["delay"] else delay_s))
        return cls(tuple(answers))

    def for_attempt(self, number: int) -> Answer:
        """The answer to attempt `number`, counted from 1."""
        return self.answers[min(max(number, 1), len(self.answers)) - 1]
