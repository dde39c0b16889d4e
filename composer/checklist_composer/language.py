"""What the reader knows about a language: words and phrases by the role that they play in a sentence.

The tables are `languages/<locale>.yaml`. In a phrase, a word is taken as it is written; `close~` stands for every form
with the same stem (closes, closed, closing), `prüfen+` for every form of the verb in an instruction (`verb_forms`), and
`-temperatur` for every word that ends so (compounds). Capitals and accents never matter.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import snowballstemmer
import yaml

from .locales import Locale
from .verb_forms import verb_forms

_STEMMERS: Final = {"en": "english", "de": "german", "es": "spanish", "fr": "french"}
_STEM_PREFIX: Final = 3
"""A word is only stemmed when a table has a stem that begins like it: stemming is slow, and most words are in none."""
_LONGEST_WORD: Final = 40
_MAX_REMEMBERED: Final = 20_000
# One class after the other without overlap, so that no text makes the expression try twice.
WORD: Final = re.compile(r"[^\W\d_][^\W_]*(?:['’\-][^\W\d_][^\W_]*)*['’]?|\d+(?:[.,:]\d+)*|[^\w\s]|_+")
"""A word, a number or a mark of a text."""
_SIGNS: Final = frozenset("-−–")
_NO_POSSESSORS: Final = frozenset({"it's", "that's", "what's", "there's", "let's", "who's", "he's", "she's", "here's"})
"""What ends like a possessor and is none."""
_COMMA_BEFORE: Final = {"de": (" ob", " dass", " was", " warum", " wie", " wenn")}
"""Words before which the language writes a comma that not everybody writes."""

_BOUNDING: Final = frozenset({"below", "above", "at_least", "at_most"})
_CONTRACTIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "es": {"de": ("del", "de los", "de las", "de la"), "a": ("al", "a los", "a las", "a la")},
    "fr": {"de": ("du", "des", "de la", "d'"), "à": ("au", "aux", "à la")},
}
"""What a preposition becomes together with an article."""


def fold(text: str) -> str:
    """The text without capitals and accents."""
    text = text.casefold()
    if text.isascii():
        return text
    return "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )


@dataclass(frozen=True, slots=True)
class WordForms:
    """A word in the forms that tables are asked for."""

    key: str
    """Folded."""
    base: str
    """The key without what shows a possessor: `customer's` is looked up as `customer`."""
    stem: str
    """Of a word that no table can have, its base."""
    is_number: bool
    is_word: bool
    may_count: bool
    """Whether a number can begin here, in digits, with its sign, or as a word."""
    may_measure: bool
    """Whether a unit can begin with it."""
    starts: "Starts"
    """The tables' phrases that begin with it."""


@dataclass(frozen=True, slots=True)
class Starts:
    """What is known of a phrase by its first word alone."""

    roles: Mapping[str, int]
    """The roles of the word alone, each with 1: how many words it has. Never changed, as every text shares it."""
    nodes: tuple[int, ...]
    """Where in the tree phrases of more words go on; mostly nowhere."""


class _Phrases:
    """The tables' phrases as a tree of words: a node stands for the words that lead to it, 0 for none yet.

    Plain tables of tuples: the garbage collector, which looks at every object again and again, has nothing to look at.
    """

    def __init__(self) -> None:
        self._by_base: dict[tuple[int, str], int] = {}
        self._by_stem: dict[tuple[int, str], int] = {}
        self._roles: list[tuple[str, ...]] = [()]
        """Of each node, those of the phrases that end there."""
        self._inner: set[int] = set()
        """The nodes that others follow."""

    def learn(self, role: str, pattern: Sequence[str]) -> None:
        """Adds a phrase; a word with `~` at its end is a stem."""
        node = 0
        for word in pattern:
            table = self._by_stem if word.endswith("~") else self._by_base
            self._inner.add(node)
            node = table.setdefault((node, word.removesuffix("~")), len(self._roles))
            if node == len(self._roles):
                self._roles.append(())
        self._roles[node] = (*self._roles[node], role)

    def starting(self, base: str, stem: str, endings: Iterable[str]) -> "Starts":
        """The phrases that begin with a word; `endings`: roles that it has by how it ends, where it has no other."""
        found = (self._by_base.get((0, base)), self._by_stem.get((0, stem)))
        nodes = [node for node in found if node is not None]
        roles = {role: 1 for node in nodes for role in self._roles[node]}
        for role in endings:
            roles.setdefault(role, 1)
        return Starts(roles, tuple(node for node in nodes if node in self._inner))

    def at(self, words: Sequence[WordForms], start: int) -> Mapping[str, int]:
        """The roles of the phrases that begin at a word, each with the number of words of the longest."""
        starts = words[start].starts
        nodes: Sequence[int] = starts.nodes
        if not nodes:
            return starts.roles
        found: dict[str, int] | None = None
        place = start + 1
        while nodes and place < len(words):
            word = words[place]
            place += 1
            longer = [self._by_base.get((node, word.base)) for node in nodes]
            longer += [self._by_stem.get((node, word.stem)) for node in nodes]
            nodes = [node for node in longer if node is not None]
            for node in nodes:
                for role in self._roles[node]:
                    if found is None:
                        found = dict(starts.roles)
                    found[role] = place - start
        return starts.roles if found is None else found


class Language:
    """One language's tables, ready for looking words up. Made by `language_of`, never changed."""

    def __init__(self, locale: Locale, tables: Mapping[str, Any]) -> None:
        self.locale = locale
        self._stemmer = snowballstemmer.stemmer(_STEMMERS[locale])
        self._stems: dict[str, str] = {}
        self._any_stems: dict[str, str] = {}
        self._forms: dict[str, WordForms] = {}
        self.texts: Mapping[str, str] = tables["texts"]
        """What the composer itself writes: labels that nobody gave, by name."""
        self.numbers: Mapping[str, float] = {fold(word): float(number) for word, number in tables["numbers"].items()}
        self.number_starts: frozenset[str] = frozenset(words.split()[0] for words in self.numbers)
        self.units: Mapping[str, tuple[str, str]] = _units(tables["units"])
        """Unit as people write it (folded) to the unit that is shown and the kind of quantity."""
        self.unit_starts: frozenset[str] = frozenset(
            match.group() for unit in self.units if (match := WORD.match(unit))
        )
        """What the first token of a unit can be."""
        self.elided: frozenset[str] = frozenset(tables.get("elided", ()))
        """What stands before an apostrophe as a word of its own: l', d', qu'."""
        self.unfolded: frozenset[str] = frozenset(word.casefold() for word in tables.get("unfolded", ()))
        """Words that are others without their accents: sí is no si, à no a."""
        self.verb_last: bool = tables.get("verb_last") == "true"
        """Whether an instruction may end in its verb: `Türen und Fenster prüfen`."""
        self._contraries: Mapping[str, frozenset[str]] = self._exclusions(
            map(fold, row) for row in (*tables.get("opposites", ()), *tables.get("contraries", ()))
        )
        self.function_words: frozenset[str] = frozenset(fold(word) for word in tables["function_words"])
        words = (tuple(map(fold, tables[name])) for name in ("rewriting", "rewriting_into", "writing", "writings"))
        self.rewriting, self.rewriting_into, self.writing, self.writings = words
        """Words of requests for something else than a checklist; beginnings of them, apart from `rewriting_into`."""
        self._phrases = _Phrases()
        self._endings: dict[str, str] = {}
        self._prefixes: set[str] = set()
        phrases = [
            (role, form)
            for role, entries in tables["words"].items()
            for phrase in entries
            for form in _contracted(locale, role, _forms(locale, str(phrase)))
        ]
        self.vocabulary: frozenset[str] = frozenset(
            fold(word) for _, phrase in phrases for word in WORD.findall(phrase)
        )
        """Every word of the tables, folded."""
        for _, phrase in phrases:
            self._learn_prefixes(phrase)
        for role, phrase in phrases:
            self._learn(role, phrase)

    def key(self, word: str) -> str:
        """The word as tables are asked for it: without capitals, and without accents where they tell nothing."""
        word = word.casefold()
        return word if word in self.unfolded else fold(word)

    def opposite(self, stem: str) -> frozenset[str]:
        """The stems of the states that exclude a state: of `open`, that of `closed`."""
        return self._contraries.get(stem, frozenset())

    def _exclusions(self, rows: Iterable[Iterable[str]]) -> Mapping[str, frozenset[str]]:
        """Of rows of words, the first of which excludes all others: each stem with those that it excludes."""
        found: dict[str, set[str]] = {}
        for row in rows:
            first, *others = [self.any_stem(word) for word in row]
            for other in others:
                found.setdefault(first, set()).add(other)
                found.setdefault(other, set()).add(first)
        return {stem: frozenset(others) for stem, others in found.items()}

    def stem(self, word: str) -> str:
        """The stem of a word in any spelling, folded; the word itself when no table can have it."""
        folded = fold(word)
        if folded[:_STEM_PREFIX] not in self._prefixes or len(folded) > _LONGEST_WORD:
            return folded
        known = self._stems.get(folded)
        if known is None:
            known = fold(self._stemmer.stemWord(folded if self.locale == "en" else word.casefold()))
            if len(self._stems) < _MAX_REMEMBERED:
                self._stems[folded] = known
        return known

    def any_stem(self, word: str) -> str:
        """The stem of any word, folded: to see whether two words are forms of one."""
        known = self._any_stems.get(word)
        if known is None:
            known = fold(word)
            if len(known) > _LONGEST_WORD:
                return known
            known = fold(self._stemmer.stemWord(word.casefold()))
            if len(self._any_stems) < _MAX_REMEMBERED and len(word) <= _LONGEST_WORD:
                self._any_stems[word] = known
        return known

    def forms(self, word: str) -> WordForms:
        """The forms of a word or a mark of a text."""
        known = self._forms.get(word)
        if known is None:
            key = self.key(word).replace("’", "'") or word
            known = self.forms_of_key(word, key)
            if len(self._forms) < _MAX_REMEMBERED and len(word) <= _LONGEST_WORD:
                self._forms[word] = known
        return known

    def forms_of_key(self, word: str, key: str) -> WordForms:
        """As `forms`, for a word whose key is known."""
        base = key[:-2] if key.endswith("'s") and key not in _NO_POSSESSORS else key
        is_word, is_number = key[0].isalpha(), key[0].isdigit()
        stem = self.stem(word) if is_word and base == key else base
        may_count = is_number or word in _SIGNS or key in self.number_starts
        endings = [role for ending, role in self._endings.items() if base.endswith(ending)]
        starts = self._phrases.starting(base, stem, endings)
        return WordForms(key, base, stem, is_number, is_word, may_count, fold(key) in self.unit_starts, starts)

    def marks(self, words: Sequence[WordForms], start: int) -> Mapping[str, int]:
        """The roles of the phrases that begin at a word, each with the number of words of the longest."""
        return self._phrases.at(words, start)

    def _learn_prefixes(self, phrase: str) -> None:
        self._prefixes.update(fold(word)[:_STEM_PREFIX] for word in phrase.split() if word.endswith("~"))

    def _learn(self, role: str, phrase: str) -> None:
        if phrase.startswith("-") and len(phrase) > 1:
            self._endings[fold(phrase[1:])] = role
            return
        pattern = tuple(
            self.stem(word[:-1]) + "~" if word.endswith("~") else self.key(word) for word in _words(phrase, self.elided)
        )
        self._phrases.learn(role, pattern)


def _forms(locale: Locale, entry: str) -> Iterator[str]:
    """Every spelling of a table's entry: the forms of its verbs, with the commas that belong there or are left out."""
    forms = [""]
    for word in entry.split():
        spellings = verb_forms(locale, word[:-1]) if word.endswith("+") and len(word) > 1 else (word,)
        forms = [f"{form} {spelling}".strip() for form in forms for spelling in spellings]
    for form in forms:
        yield form
        for word in _COMMA_BEFORE.get(locale, ()):
            if form.endswith(word):
                yield f"{form[: -len(word)]},{word}"


def _contracted(locale: Locale, role: str, forms: Iterator[str]) -> Iterator[str]:
    """`por debajo de` also before an article: `por debajo del 3 %`, `en dessous des 20 %`."""
    for form in forms:
        yield form
        if role in _BOUNDING:
            head, _, last = form.rpartition(" ")
            for contraction in _CONTRACTIONS.get(locale, {}).get(last, ()) if head else ():
                yield f"{head} {contraction}"


def _words(phrase: str, elided: frozenset[str]) -> list[str]:
    """The phrase's words and marks, cut as those of a text are."""
    words: list[str] = []
    for piece in phrase.split():
        mark = "~" if piece.endswith("~") and len(piece) > 1 else ""
        for found in WORD.findall(piece[: len(piece) - len(mark)]):
            start = 0
            while (cut := found.find("'", start)) > start and cut + 1 < len(found) and fold(found[start:cut]) in elided:
                words.append(found[start : cut + 1])
                start = cut + 1
            words.append(found[start:])
        words[-1] += mark
    return words


def _units(table: Mapping[str, Mapping[str, list[str]]]) -> dict[str, tuple[str, str]]:
    return {
        fold(str(spelling)): (str(unit), kind)
        for kind, units in table.items()
        for unit, spellings in units.items()
        for spelling in (unit, *spellings)
    }


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for kind, units in more.items():
        merged[kind] = {**merged.get(kind, {})}
        for unit, spellings in units.items():
            merged[kind][unit] = [*merged[kind].get(unit, ()), *spellings]
    return merged


def _read(name: str) -> Any:
    text = files("checklist_composer").joinpath("languages", name).read_text(encoding="utf-8")
    # Everything is text: otherwise YAML would read `no`, `on` and `y` as booleans.
    return yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))  # noqa: S506


@cache
def language_of(locale: Locale) -> Language:
    """The language's tables, read once. Units that all languages share come from `units.yaml`."""
    tables = _read(f"{locale}.yaml")
    tables["units"] = _merged(_read("units.yaml"), tables.get("units", {}))
    return Language(locale, tables)
