"""Resolves conditions (`if it leaks`, `otherwise`) to answers of earlier items.

A condition without an unambiguous trigger stays text for the executor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from checklist_crds.resources.template_definition import Operator

from ..language import fold
from .answers import NO, YES, limits_of, numbers_of, options_of, roles_of
from .items import Item
from .labels import Label, LabelledSpan
from .sentences import asks_back
from .tokens import TokenizedText

SUPPOSING: Final = frozenset({"if", "only_if", "unless", "otherwise", "if_not", "if_yes"})
"""Roles of words that introduce a condition."""
_NEGATING: Final = frozenset({"not", "bad"})
_POLAR: Final = frozenset({"not", "bad", "good"})
_OFFERING: Final = frozenset({Label.CHOICE, Label.MULTI_CHOICE})
_REACH: Final = 40
"""Maximum number of earlier items that a condition may refer to."""
_PRONOUN_WORDS: Final = 6
"""Maximum words of a condition that refers to an item without naming it."""
_OPPOSITE: Final = {
    Operator.GT: Operator.LTE,
    Operator.GTE: Operator.LT,
    Operator.LT: Operator.GTE,
    Operator.LTE: Operator.GT,
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.IN: Operator.NOT_IN,
    Operator.NOT_IN: Operator.IN,
}


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

    def negated(self) -> "Trigger | None":
        """The opposite; None if that needs more than one comparison."""
        if len(self.tests) != 1:
            return None
        test = self.tests[0]
        if isinstance(test.value, bool):
            return Trigger((Test(test.item, Operator.EQ, not test.value),))
        opposite = _OPPOSITE.get(test.op)
        return Trigger((Test(test.item, opposite, test.value),)) if opposite else None


class Triggers:
    """Finds the trigger of each condition of one prompt, in order."""

    def __init__(self, text: TokenizedText, items: Sequence[Item]) -> None:
        self.text = text
        self.items = items
        self._last: tuple[LabelledSpan, Trigger] | None = None
        self._stems: dict[tuple[int, int], frozenset[str]] = {}
        self._options: dict[int, list[str]] = {}

    def of(self, span: LabelledSpan) -> Trigger | None:
        """The trigger of a condition; None if it is ambiguous."""
        before = [item for item in self.items if item.end <= span.start][-_REACH:]
        found = self._found(span, before) if before else None
        if found is not None:
            self._last = (span, found)
        return found

    def _found(self, span: LabelledSpan, before: list[Item]) -> Trigger | None:
        if (chosen := self._option(span, before[-1:])) is not None:  # `ok / not ok. If not ok`
            return chosen
        answer = self._plain_answer(span)
        if answer is False and self._last is not None and self._follows_last(before, *self._last):
            return self._last[1].negated()
        if answer is not None:
            return self._answered(before, yes=answer)
        if (chosen := self._option(span, before)) is not None:
            return chosen
        if (compared := self._number(span, before)) is not None:
            return compared
        return self._check(span, before)

    # -- `if not`, `otherwise` -------------------------------------------------------------------------------------

    def _plain_answer(self, span: LabelledSpan) -> bool | None:
        """The answer meant by `if so` or `if not` without other words."""
        if self._covered(span, ("if_not", "otherwise")):
            return False
        return True if self._covered(span, ("if_yes",)) else None

    def _covered(self, span: LabelledSpan, roles: Sequence[str]) -> bool:
        """Whether the span is a phrase with one of the roles, apart from punctuation and `then`."""
        text = self.text
        for index in range(span.start, min(span.start + 3, span.end)):
            for role in roles:
                length = text.roles[index].get(role, 0)
                rest = [*range(span.start, index), *range(index + length, span.end)]
                if length and not any(
                    text.tokens[one].is_word and not text.roles[one].keys() & {"then", "and", "please"} for one in rest
                ):
                    return True
        return False

    def _follows_last(self, before: list[Item], span: LabelledSpan, trigger: Trigger) -> bool:
        """Whether the previous condition refers to the last possible item."""
        later = [item for item in before if item.start > span.end]
        return trigger.tests[0].item in before and not any(map(self._asks_back, later))

    def _asks_back(self, item: Item) -> bool:
        if item.label is Label.CHOICE:
            return self._yes_or_no(item, yes=False) is not None
        return item.label is Label.CHECK and asks_back(self.text, item.end)

    def _answered(self, before: list[Item], *, yes: bool) -> Trigger | None:
        """The last item answered with yes or no; for a number with limits, no means outside of them."""
        for item in reversed(before[-2:]):
            if item.label is Label.CHECK:
                return Trigger((Test(item, Operator.EQ, yes),))
            if item.label is Label.CHOICE and (said := self._yes_or_no(item, yes=yes)) is not None:
                return Trigger((Test(item, Operator.EQ, said),))
            if item.label is Label.NUMBER and item.has(Label.LIMIT):
                return self._out_of(item) if not yes else None
            if item.label not in {Label.PHOTO, Label.TEXT} or item.confidence == 0:  # words that were not understood
                return None
        return None

    def _yes_or_no(self, item: Item, *, yes: bool) -> str | None:
        """The option that means yes, or no."""
        span = item.first(Label.OPTIONS)
        labels = self._labels(span) if span else []
        words = YES if yes else NO
        return next((label for label in labels if fold(label) in words), None)

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

    # -- yes and no ------------------------------------------------------------------------------------------------

    def _check(self, span: LabelledSpan, before: list[Item]) -> Trigger | None:
        checks = [item for item in before if item.label is Label.CHECK]
        if not checks:
            return None
        named = self._named(span, checks)
        item = named or (checks[-1] if before[-1] is checks[-1] and self._is_short(span) else None)
        if item is None:
            return None
        condition, asked = self._roles(span), self._roles_between(item.start, item.end)
        negative = len(condition & _NEGATING) % 2 == 1
        problem = "bad" in asked and "not" not in asked
        states = self._overlap(span, item)
        if named is None and "anything" in condition:
            return None
        if negative:
            if named is None and "bad" not in condition and "not" not in condition:
                return None
            if "not" in condition and "bad" not in condition and not states and named is not None:
                return None
            return Trigger((Test(item, Operator.EQ, problem and "not" not in condition),))
        if condition & _NEGATING:  # `if it is not damaged`
            return Trigger((Test(item, Operator.EQ, not problem),))
        if self._states_opposite(span, item):  # `window open? if it is closed`
            return Trigger((Test(item, Operator.EQ, False),))
        if named is before[-1] and self._repeats(span, named):  # `does it vibrate? if it vibrates`
            return Trigger((Test(item, Operator.EQ, True),))
        if named is not None and (states >= 2 or (states and problem)):
            return Trigger((Test(item, Operator.EQ, True),))
        if condition & {"good"} and not problem and not self._states_another(span, item):
            return Trigger((Test(item, Operator.EQ, True),))
        if condition & {"there", "finds", "anything"} and (problem or self._asks_whether_there(span, item)):
            return Trigger((Test(item, Operator.EQ, True),))
        return None

    def _repeats(self, span: LabelledSpan, item: Item) -> bool:
        """Whether all words of the condition are in the item."""
        return bool(self._stems_of(span)) and self._stems_of(span) <= self._stems_of(item)

    def _asks_whether_there(self, span: LabelledSpan, item: Item) -> bool:
        """Whether the item asks whether something exists, and the condition is only that it does."""
        said = self._stems_of(span) - self._stems_of(item)
        return not said and "there" in self._roles_between(max(item.start - 1, 0), item.end)

    def _states_another(self, span: LabelledSpan, item: Item) -> bool:
        """Whether the condition names a state (`if it is closed`) different from the item's (`window open?`)."""
        said, asked = (self._states(place) for place in (span, item))
        return bool(said and asked) and not said & asked

    def _states_opposite(self, span: LabelledSpan, item: Item) -> bool:
        said, asked = (
            {self._stem(token.key) for token in self.text.tokens[place.start : place.end]} for place in (span, item)
        )
        return any(self.text.language.opposite(stem) & asked for stem in said)

    def _states(self, place: LabelledSpan | Item) -> set[str]:
        """The stems of state words."""
        at = [index for index in range(place.start, place.end) if "state" in self.text.roles[index]]
        return {self._stem(self.text.tokens[index].key) for index in at}

    # -- words -----------------------------------------------------------------------------------------------------

    def _is_short(self, span: LabelledSpan) -> bool:
        return len(self.text.stems(span.start, span.end)) <= _PRONOUN_WORDS

    def _named(self, span: LabelledSpan, items: Sequence[Item]) -> Item | None:
        """The item with the most words in common with the condition, the last one if equal."""
        counted = [(self._overlap(span, item), item) for item in items]
        most = max((count for count, _ in counted), default=0)
        return next((item for count, item in reversed(counted) if count == most), None) if most else None

    def _overlap(self, span: LabelledSpan, item: Item) -> int:
        return len(self._stems_of(span) & self._stems_of(item))

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
        return self._roles_between(span.start, span.end)

    def _roles_between(self, start: int, end: int) -> set[str]:
        """The roles of the words; in a phrase with a polarity (`does not work`), single words have none."""
        found: set[str] = set()
        phrase_end = start
        for index in range(start, end):
            roles = {role: length for role, length in self.text.roles[index].items() if index + length <= end}
            longest = max((length for role, length in roles.items() if role in _POLAR), default=0)
            within = index < phrase_end
            found |= {
                role for role, length in roles.items() if role not in _POLAR or (length == longest and not within)
            }
            if longest > 1 and not within:
                phrase_end = index + longest
        return found
