"""Search index of the library's domains by name. SQLite's full-text search ranks them by bm25 over stems."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Final

from rapidfuzz import process
from rapidfuzz.distance import OSA

from .domain_types import DomainHead
from .language import fold
from .library import heads
from .locales import Locale
from .ranking_terms import (
    Meaning,
    check_words,
    known_words,
    meaning,
    plain_words,
    stem,
    strong_stems,
    weak_stems,
    word_forms,
)

_CANDIDATES: Final = 12
_SHORTEST_PART: Final = 4
"""Minimum letters of a part of a compound."""
_SHORTEST_SLIP: Final = 6
"""Minimum letters of a word in which a typing error can be distinguished from another word."""
_BEGINNING: Final = 3
_JOINTS: Final = ("", "s", "n", "e", "en", "es", "er", "ns", "ens", "ung", "ungs")
"""Linking elements between the first stem of a compound and the next: Leiter-prüfung, Öffn-ungs-liste."""
_RARE: Final = 2
"""A word in the names of up to this many domains identifies a domain."""
_INFINITIVE: Final = re.compile(r"\b([a-zäöüß]{3,})en\b")
"""A German verb is not capitalized, and has a noun: `Bar schließen`, `die Schließung der Bar`."""
_DATABASE_LOCK: Final = Lock()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query, with all possible stems."""

    stems: frozenset[str]
    strong: bool


@dataclass(frozen=True, slots=True)
class Name:
    stems: frozenset[str]
    weak: frozenset[str] = frozenset()
    """Other words: how, who, when."""
    alone: bool = False
    """Whether it matches only a query that names nothing else."""
    needs: frozenset[str] = frozenset()
    """One of these must be in the query, unless it names nothing else: "car check" matches any check of a car, but no
    car wash. Empty if the name has several strong words."""


class Index:
    """Search index of the names of all domains in one language."""

    def __init__(self, locale: Locale, heads: Iterable[DomainHead]) -> None:
        self.locale = locale
        self._names: dict[str, list[Name]] = {}
        self._spellings: dict[str, str] = dict(word_forms(locale))
        self._doings: dict[str, str] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute("create virtual table domains using fts5(id unindexed, names, also, tags)")
        for head in heads:
            self._learn(head)
        owners = Counter(stemmed for domain_id in self._names for stemmed in self._vocabulary(domain_id))
        for domain_id, names in self._names.items():
            self._names[domain_id] = [_unless_common(name, owners) for name in names]
        self._rare = {
            domain_id: frozenset(stemmed for stemmed in self._vocabulary(domain_id) if owners[stemmed] <= _RARE)
            for domain_id in self._names
        }
        self._known = frozenset(owners)
        self._known_words = known_words(locale)
        self._long_words = sorted(word for word in self._spellings if len(word) >= _SHORTEST_SLIP)
        self._begun = frozenset(one[:_BEGINNING] for one in self._known | self._known_words)
        self._beginnings: dict[str, list[str]] = {}
        for stemmed in sorted(self._known, key=lambda one: (-len(one), one)):
            if len(stemmed) >= _SHORTEST_PART:
                self._beginnings.setdefault(stemmed[:_SHORTEST_PART], []).append(stemmed)

    def _learn(self, head: DomainHead) -> None:
        names, also, tags = (phrases.in_(self.locale) for phrases in (head.names, head.also, head.tags))
        names = (*names, head.title.in_(self.locale))
        for word in plain_words(" ".join((*names, *also))):
            self._spellings[fold(word)] = stem(word, self.locale)
        for verb in _INFINITIVE.findall(" ".join((*names, *also))) if self.locale == "de" else ():
            self._doings[stem(f"{verb}ung", self.locale)] = stem(f"{verb}en", self.locale)
        self._names[head.id] = [*(self._name(name) for name in names), *(self._name(word, alone=True) for word in also)]
        columns = [" ".join(" ".join(strong_stems(one, self.locale)) for one in part) for part in (names, also, tags)]
        self._database.execute("insert into domains values (?, ?, ?, ?)", (head.id, *columns))

    def _name(self, name: str, *, alone: bool = False) -> Name:
        strong, weak = frozenset(strong_stems(name, self.locale)), weak_stems(name, self.locale)
        needs = frozenset[str]()
        if len(strong) == 1 and strong.isdisjoint(weak):
            checks = check_words(self.locale)
            needs = weak if weak.isdisjoint(checks) else weak | checks
        return Name(strong, weak - strong, alone, needs)

    def names(self, domain_id: str) -> Sequence[Name]:
        return self._names[domain_id]

    def rare(self, domain_id: str) -> frozenset[str]:
        """Stems in the names of a domain that at most one other domain has."""
        return self._rare[domain_id]

    def read(self, word: str, *, foreign: bool = False) -> Word:
        """The stems of a query word: its own, the parts of a compound, or the word without its typing error.

        If the query is in a `foreign` language, only its own: every word would look like a typing error.
        """
        folded = fold(word)
        # Stemming is slow, and a word that begins like no known word has no known stem.
        begun = len(folded) <= _SHORTEST_PART or folded[:_BEGINNING] in self._begun
        stemmed = stem(word, self.locale) if begun else folded
        known = stemmed in self._known or stemmed in self._known_words
        others = set[str]() if foreign else self._parts(folded)
        if stemmed in self._doings and not foreign:
            others.add(self._doings[stemmed])
        if not others and not foreign and not known:
            others = self._meant(folded)
        means = meaning(word, stemmed, self.locale)
        if not known and others - {stemmed}:
            means = Meaning.WEAK if self._known.isdisjoint(others) else Meaning.STRONG
        return Word(frozenset({stemmed, *others}), means is Meaning.STRONG)

    def spelled(self, word: str) -> str | None:
        """The stem of a word known in exactly this spelling."""
        return self._spellings.get(fold(word))

    def rank(self, places: Mapping[str, frozenset[int]]) -> list[tuple[str, float]]:
        """Domains that share a word with the query, with their bm25, best first."""
        wanted = sorted(self._known & places.keys())
        if not wanted:
            return []
        query = " OR ".join(f'"{stemmed}"' for stemmed in wanted)
        sql = "select id, bm25(domains, 0, 10, 5, 1) from domains where domains match ? order by 2, id limit ?"
        with _DATABASE_LOCK:
            return list(self._database.execute(sql, (query, _CANDIDATES)))

    def _vocabulary(self, domain_id: str) -> set[str]:
        return {stemmed for name in self._names[domain_id] for stemmed in name.stems}

    def _meant(self, word: str) -> set[str]:
        """The known word within one typing error (from six letters), or two (from ten). In shorter words, an error
        often gives another word: horse and house."""
        if word.endswith("s") and word[:-1] in self._spellings:  # a plural that the stemmer keeps: frigos
            return {self._spellings[word[:-1]]}
        if len(word) < _SHORTEST_SLIP - 1:
            return set()
        slips = 2 if len(word) >= 10 else 1
        best = process.extractOne(word, self._long_words, scorer=OSA.distance, score_cutoff=slips)
        # Typing errors are rare in the first letter, where different words differ: "house" and "mouse".
        return {self._spellings[best[0]]} if best and best[0][0] == word[0] else set()

    def _parts(self, word: str) -> set[str]:
        """The parts of a compound ("Staplercheckliste") if all are known, else empty."""
        if self.locale != "de":
            return set()
        for head in self._beginnings.get(word[:_SHORTEST_PART], ()):
            if not word.startswith(head):
                continue
            for joint in _JOINTS:
                rest = word[len(head) + len(joint) :]
                if len(rest) < _SHORTEST_PART or not word.startswith(joint, len(head)):
                    continue
                tail = stem(rest, self.locale)
                tail = tail if tail in self._known else self._doings.get(tail, tail)
                if tail in self._known or tail in self._known_words:
                    return {head, tail}
        return set()


def _unless_common(name: Name, owners: Mapping[str, int]) -> Name:
    """A name of one common word, restricted to queries that name nothing else."""
    common = len(name.stems) == 1 and not name.needs and max(owners[stemmed] for stemmed in name.stems) > _RARE
    return replace(name, alone=name.alone or common)


@cache
def index_of(locale: Locale) -> Index:
    """The index of one language, built once."""
    return Index(locale, heads())
