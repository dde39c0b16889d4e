"""Matches words in a template's texts without case and accents, inflected forms included."""

import unicodedata


def folded(text: str) -> str:
    """`Kühlschränke` -> `kuhlschranke`; signs such as ° are kept."""
    decomposed = unicodedata.normalize("NFKD", text.replace("º", "°").casefold())
    return " ".join("".join(char for char in decomposed if not unicodedata.combining(char)).split())


def says(text: str, pattern: str) -> bool:
    """Whether `text` has every word of `pattern`; `a|b` matches one of them, `_` a space."""
    text = folded(text)
    return all(
        any(folded(alternative).replace("_", " ") in text for alternative in word.split("|"))
        for word in pattern.split()
    )
