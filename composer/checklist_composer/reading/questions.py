"""Turns what a condition supposes into the question that finds it out: `it is damaged` - `Is it damaged?`."""

from ..locales import Locale
from ..naming import label_of
from .words import Span


def question_of(span: Span, subject: str = "") -> str:
    """The question whether what the span says is so; `subject` is what a lone state (`damaged`) is about."""
    span = span.stripped()
    language = span.words.language
    if not len(span):
        return ""
    if span.at("question"):
        return _marked(span.text, language.locale)
    if length := span.at("finds"):
        rest = span.sub(length)
        while len(rest) > 1 and rest.at("article"):
            rest = rest.sub(rest.at("article"))
        if len(rest):
            return _marked(language.texts["any_question"].format(subject=rest.text), language.locale)
    behind = span.find("finds", 1)
    if behind is not None and behind[1] == len(span):  # `Schäden vorhanden sind`
        span = span.sub(0, behind[0])
        return _marked(language.texts["any_question"].format(subject=span.text), language.locale)
    if _supposes_a_thing(span):
        while len(span) > 1 and span.at("article"):
            span = span.sub(span.at("article"))
        return _marked(language.texts["any_question"].format(subject=span.text), language.locale)
    verb = span.find("be")
    if verb is not None and verb[1] - verb[0] < len(span) and (verb[0] > 0 or not language.verb_last):
        return _marked(_inverted(span, verb), language.locale)
    if subject and len(span) <= 3:
        return _marked(f"{label_of(subject)}: {span.text}", language.locale)
    return _marked(span.text, language.locale)


def _supposes_a_thing(span: Span) -> bool:
    """`in case of damage`: there is nothing to say about it but whether there is any."""
    first = span.index[0]
    whole = Span(span.words, range(first))
    return span.find("be") is None and any(
        whole.at("in_case", first - length) == length for length in range(1, min(first, 4) + 1)
    )


def _inverted(span: Span, verb: tuple[int, int]) -> str:
    front = span.sub(*verb).text
    if span.words.language.locale in {"es", "fr"}:
        return span.text  # Both ask by tone as well: `¿La puerta está abierta?`
    if verb[1] == len(span) and not span.words.language.verb_last:
        return span.text  # `The fume hood runs?`
    rest = span.without(*verb)
    if rest[0].is_word and rest[0].text[1:].islower() and (rest.at("article") or rest.at("pronoun")):
        return f"{front} {rest.text[:1].lower()}{rest.text[1:]}"
    return f"{front} {rest.text}"


def _marked(text: str, locale: Locale) -> str:
    label = label_of(text.rstrip("?! "))
    if locale == "es":
        return f"¿{label.lstrip('¿')}?"
    return f"{label} ?" if locale == "fr" else f"{label}?"
