"""Finds the library's domains in a query.

A domain matches if the query has all words of one of its names; bm25 ranks the matches. A query without a name finds
none, because a wrong checklist is worse than none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from .library import domain
from .locales import LOCALES, Locale
from .ranking_index import Index, Name, index_of
from .ranking_terms import compound_heads, other_jobs, plain_words

MOST_WORDS: Final = 30
"""Maximum words of a query that are searched for names of jobs."""
MOST_DOMAINS: Final = 3
_SHORTEST_FOREIGN: Final = 5
"""Minimum letters of a name that is found in a text of another language."""
_JOINING: Final = frozenset({"and", "plus", "und", "sowie", "y", "e", "et"})


@dataclass(frozen=True, slots=True)
class _Match:
    domain_id: str
    positions: frozenset[int] = frozenset()
    """Positions of the name's words in the query."""
    likeness: int = 0
    """Number of the name's weak words in the query, minus the missing ones."""
    rank: float = 0
    """bm25, smaller is better."""
    wide: bool = False
    """The name is a common word in other queries, such as `kitchen`."""
    named: frozenset[int] = frozenset()
    """Positions of the words of all its names in the query: a `boat` that is `setting sail`."""

    @property
    def order(self) -> tuple[int, int, bool, float, str]:
        """Sort key, best match first."""
        return -len(self.positions), -self.likeness, self.wide, self.rank, self.domain_id


def names_job(text: str, language: Locale, *, loosely: bool = False, whole: bool = False) -> bool:
    """Whether a text is mainly a job's name: "forklift pre-use check", but not "forklift brakes below 4 bar".

    Two thirds of the words with meaning must belong to names; with `loosely`, half, but at least two words. A wide word
    ("warehouse") counts only with `whole`.
    """
    plain = plain_words(text)
    if not plain or len(plain) > MOST_WORDS:
        return False
    for query, matches in _readings(plain, language, joined=True):
        narrow = _several([match for match in matches if whole or not match.wide])
        covered = frozenset[int]().union(*(match.named for match in narrow)) & query.strong
        enough = 2 if loosely and len(covered) > 1 else 1.5
        if narrow and enough * len(covered) >= len(query.strong):
            return True
    return False


def find_domains(job: str, language: Locale) -> tuple[str, ...]:
    """The ids of the domains named in `job`, best first; several if it names several jobs.

    Names in the text's language are tried first, then other languages, since English job names are common everywhere.
    Only the first `MOST_WORDS` words are searched.
    """
    plain = plain_words(job)[:MOST_WORDS]
    joined = bool(_JOINING & set(plain)) or "/" in job or "&" in job
    for query, matches in _readings(plain, language, joined=joined):
        if matches:
            return tuple(match.domain_id for match in (_several(matches) if joined else matches[:1]))
        if query.index.locale == language and (only := _only_word(query)):
            return only
    return ()


def closest_jobs(text: str, language: Locale) -> tuple[str, ...]:
    """Titles of the library's jobs with most words of a text, best first; at most three."""
    query = _Query(index_of(language), plain_words(text)[:MOST_WORDS], joined=True)
    return tuple(domain(domain_id).head.title.in_(language) for domain_id, _ in query.ranked[:MOST_DOMAINS])


def _readings(plain: Sequence[str], language: Locale, *, joined: bool) -> Iterator[tuple["_Query", list["_Match"]]]:
    """The query in each language, its own first, with the matching domains, best first."""
    for locale in (language, *(other for other in LOCALES if other != language)):
        query = _Query(index_of(locale), plain, joined=joined, foreign=locale != language)
        matches = [match for domain_id, rank in query.ranked if (match := query.match(domain_id, rank))]
        if locale != language:  # short words exist in several languages
            matches = [one for one in matches if sum(len(plain[at]) for at in one.positions) >= _SHORTEST_FOREIGN]
        yield query, sorted(matches, key=lambda match: match.order)


def _several(matches: Sequence[_Match]) -> list[_Match]:
    """The matches that each add a word of the query to the previous ones."""
    taken: set[int] = set()
    found: list[_Match] = []
    for match in matches:
        if not match.positions <= taken and len(found) < MOST_DOMAINS:
            found.append(match)
            taken |= match.positions
    return sorted(found, key=lambda match: sorted(match.positions))


def _only_word(query: "_Query") -> tuple[str, ...]:
    """A domain whose names have all words of the query without matching as a whole: "restaurant checklist"."""
    for domain_id, _ in query.ranked:
        if query.strong and all(query.words[position].stems & query.index.rare(domain_id) for position in query.strong):
            return (domain_id,)
    return ()


class _Query:
    """The words of a query in one language."""

    def __init__(self, index: Index, plain: Sequence[str], *, joined: bool, foreign: bool = False) -> None:
        self.index = index
        self.joined = joined
        """Whether it may name several jobs."""
        self.words = [index.read(word, foreign=foreign) for word in plain]
        self.strong = frozenset(position for position, word in enumerate(self.words) if word.strong)
        places: dict[str, set[int]] = {}
        for position, word in enumerate(self.words):
            for stemmed in word.stems:
                places.setdefault(stemmed, set()).add(position)
        for position, (first, second) in enumerate(pairwise(plain)):
            if (one := index.spelled(first + second)) is not None:  # spelling as two words: fork lift
                places.setdefault(one, set()).update({position, position + 1})
        self.places: Mapping[str, frozenset[int]] = {one: frozenset(where) for one, where in places.items()}
        self.ranked = index.rank(self.places)
        self._other = [where for one, where in places.items() if one in other_jobs(index.locale)]
        self._heads = frozenset(at for at, word in enumerate(plain) if word in compound_heads(index.locale))
        self._begins_otherwise = bool(self.strong) and any(min(self.strong) in where for where in self._other)

    def match(self, domain_id: str, rank: float) -> _Match | None:
        """The best of the domain's names in the query."""
        best: _Match | None = None
        named: set[int] = set()
        for name in self.index.names(domain_id):
            if name.stems and all(stemmed in self.places for stemmed in name.stems):
                positions = frozenset[int]().union(*(self.places[stemmed] for stemmed in name.stems))
                if self.strong <= positions or self._means(name, positions):
                    common = sum(1 if stemmed in self.places else -1 for stemmed in name.weak)
                    wide = name.alone or (bool(name.needs) and name.needs.isdisjoint(self.places))
                    match = _Match(domain_id, positions, common, rank, wide)
                    best = match if best is None else min(best, match, key=lambda one: one.order)
                    named |= positions
        return best and replace(best, named=frozenset(named))

    def _means(self, name: Name, positions: frozenset[int]) -> bool:
        """Whether the name identifies its domain in a query with more words than the name."""
        if name.alone or (name.needs and name.needs.isdisjoint(self.places)):
            return False
        if any(position - 1 in positions for position in self._heads - positions):
            return False  # `pool table maintenance` is not about a pool
        if len(name.stems) > 1:
            return not self._begins_otherwise or self.joined or min(self.strong) in positions
        return all(where <= positions for where in self._other)
