"""Resolves conditions (`if it leaks`, `otherwise`) to answers of earlier items.

A condition without an unambiguous trigger stays text for the executor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checklist_crds.resources.template_definition import Operator

from ..language import fold
from .answers import NO, limits_of, numbers_of, options_of, roles_of
from .items import Item
from .labels import Label, LabelledSpan
from .references import referred
from .sentences import Sentences
from .tokens import TokenizedText

SUPPOSING: Final = frozenset({"if", "only_if", "unless", "otherwise", "if_not", "if_yes"})
"""Roles of words that introduce a condition."""
_POLAR: Final = frozenset({"not", "bad", "good"})
_OFFERING: Final = frozenset({Label.CHOICE, Label.MULTI_CHOICE})
_REACH: Final = 40
"""Maximum number of earlier items that a condition may refer to."""


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison with an item's answer; options by their labels."""

    item: Item
    op: Operator
    value: object


@dataclass(frozen=True, slots=True)
class Trigger:
    """Items apply if at least one of the tests holds."""

    tests: tuple[Test, ...]


class Triggers:
    """Finds the trigger of each condition of one prompt, in order."""

    def __init__(self, text: TokenizedText, items: Sequence[Item], sentences: Sentences) -> None:
        self.text = text
        self.sentences = sentences
        self.items = items
        self._stems: dict[tuple[int, int], frozenset[str]] = {}
        self._options: dict[int, list[str]] = {}
        self._last: tuple[list[str], Trigger] | None = None

    def of(self, span: LabelledSpan) -> Trigger | None:
        """The trigger of a condition; None if it is ambiguous."""
        before = [item for item in self.items if item.end <= span.start][-_REACH:]
        said = [token.key for token in self.text.tokens[span.start : span.end]]
        asked = bool(before) and before[-1].label is Label.CHECK
        if self._last is not None and said == self._last[0] and not asked:  # the same words again
            return self._last[1]
        found = self._found(span, before) if before else None
        self._last = (said, found) if found else None
        return found

    def _found(self, span: LabelledSpan, before: list[Item]) -> Trigger | None:
        if (chosen := self._option(span, before)) is not None:
            return chosen
        if (compared := self._number(span, before)) is not None:
            return compared
        last = self._last[1].tests[0].item if self._last else None
        meant = referred(self.text, self.sentences, span, before, last)
        if meant is None:
            return None
        item, said = meant
        return self._out_of(item) if said == "out" else Trigger((Test(item, Operator.EQ, said == "yes"),))

    def _out_of(self, item: Item) -> Trigger | None:
        limit = item.first(Label.LIMIT)
        if limit is None:
            return None
        low, high = limits_of(self.text.slice(limit.start, limit.end), self.text.language)
        tests = []
        if low is not None:
            tests.append(Test(item, Operator.LT, low))
        if high is not None:
            tests.append(Test(item, Operator.GT, high))
        return Trigger(tuple(tests)) if tests else None

    # -- options and numbers ---------------------------------------------------------------------------------------

    def _option(self, span: LabelledSpan, before: list[Item]) -> Trigger | None:
        words = {fold(token.text) for token in self.text.tokens[span.start : span.end] if token.is_word}
        words |= {self._stem(word) for word in words}
        for item in reversed(before):
            if item.label not in _OFFERING or (options := item.first(Label.OPTIONS)) is None:
                continue
            labels = self._labels(options)
            hit = [label for label in labels if self._names(label, words)]
            longest = [label for label in hit if not any(label != one and fold(label) in fold(one) for one in hit)]
            if longest and len(longest) < len(labels):
                if "not" in self._roles(span) and not self._negated(longest):
                    return Trigger((Test(item, Operator.NE, longest[0]),)) if len(longest) == 1 else None
                tests = tuple(Test(item, Operator.EQ, label) for label in longest)
                return Trigger(tests)
        return None

    def _negated(self, labels: list[str]) -> bool:
        words = [word for label in labels for word in label.split()]
        return any(fold(word) in NO or "not" in roles_of(word, self.text.language) for word in words)

    def _names(self, label: str, words: set[str]) -> bool:
        parts = [fold(word) for word in label.split() if any(letter.isalnum() for letter in word)]
        return bool(parts) and all(part in words or self._stem(part) in words for part in parts)

    def _number(self, span: LabelledSpan, before: list[Item]) -> Trigger | None:
        numbers = [item for item in before if item.label in {Label.NUMBER, Label.RATING}]
        if not numbers:
            return None
        roles = self._roles(span)
        said = self.text.slice(span.start, span.end)
        values = numbers_of(said, self.text.language)
        item = self._named(span, numbers) or (numbers[-1] if before[-1] is numbers[-1] else None)
        if item is None:
            return None
        above, below = bool(roles & {"above", "at_least"}), bool(roles & {"below", "at_most"})
        if len(values) == 1 and above != below:
            if above:
                return Trigger((Test(item, Operator.GTE if "at_least" in roles else Operator.GT, values[0]),))
            return Trigger((Test(item, Operator.LTE if "at_most" in roles else Operator.LT, values[0]),))
        limit = item.first(Label.LIMIT)
        if not values and self._named(span, [item]) and "not" not in roles and self._counts(span, item):
            return Trigger((Test(item, Operator.GT, 0),))
        if values or limit is None:
            return None
        low, high = limits_of(self.text.slice(limit.start, limit.end), self.text.language)
        if high is not None and ("too_high" in roles or ("above" in roles and low is None)):
            return Trigger((Test(item, Operator.GT, high),))
        if low is not None and ("too_low" in roles or ("below" in roles and high is None)):
            return Trigger((Test(item, Operator.LT, low),))
        named = self._named(span, [item]) is not None
        if "outside" in roles or (roles & {"bad"} and named) or ("not" in roles and roles & {"good"}):
            return self._out_of(item)
        return None

    def _counts(self, span: LabelledSpan, item: Item) -> bool:
        """Whether the item counts things, and the condition is that there are any."""
        if item.label is not Label.NUMBER:
            return False
        bare = not item.has(Label.UNIT) and not item.has(Label.LIMIT) and "there" in self._roles(span)
        return bare or self.text.has("count", item.start, item.end)

    # -- words -----------------------------------------------------------------------------------------------------

    def _named(self, span: LabelledSpan, items: Sequence[Item]) -> Item | None:
        """The item with the most words in common with the condition, the last one if equal."""
        counted = [(len(self._stems_of(span) & self._stems_of(item)), item) for item in items]
        most = max((count for count, _ in counted), default=0)
        return next((item for count, item in reversed(counted) if count == most), None) if most else None

    def _stems_of(self, place: LabelledSpan | Item) -> frozenset[str]:
        key = place.start, place.end
        if key not in self._stems:
            self._stems[key] = frozenset(self.text.stems(*key))
        return self._stems[key]

    def _labels(self, span: LabelledSpan) -> list[str]:
        if span.start not in self._options:
            self._options[span.start] = options_of(self.text.slice(span.start, span.end), self.text.language)
        return self._options[span.start]

    def _stem(self, word: str) -> str:
        return self.text.language.any_stem(word)

    def _roles(self, span: LabelledSpan) -> set[str]:
        """The roles of the words; in a phrase with a polarity (`does not work`), single words have none."""
        found: set[str] = set()
        phrase_end = span.start
        for index in range(span.start, span.end):
            roles = {role: length for role, length in self.text.roles[index].items() if index + length <= span.end}
            longest = max((length for role, length in roles.items() if role in _POLAR), default=0)
            within = index < phrase_end
            found |= {
                role for role, length in roles.items() if role not in _POLAR or (length == longest and not within)
            }
            if longest > 1 and not within:
                phrase_end = index + longest
        return found
