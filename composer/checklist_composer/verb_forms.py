"""The forms in which instructions use a verb, from its dictionary form: languages where a stem is not enough.

A stem would not do: it is the same for `limpiar` (to clean) and `limpio` (clean), for `schließen` and `Schloss`. Tables
of words name a verb once, with a `+`, and mean every form in which somebody asks for it or says who does it:

    prüfen+              prüfe, prüfen, prüfen Sie, prüft, prüfst
    ein|schalten+        schalte ... ein, schalten Sie ... ein, einschalten, einzuschalten, einschaltet
    comprobar/comprueb+  comprobar, comprobarlo, comprueba, compruebe, comprueben
    vérifier+            vérifier, vérifie, vérifiez, vérifions, vérifient

Participles are no instructions but states (`Tür geschlossen`), so they are none of the forms. What is irregular beyond
the stem stands in the tables as it is.
"""

from collections.abc import Callable, Mapping
from typing import Final

_CLITICS: Final = ("lo", "la", "los", "las", "le", "les", "se")


def verb_forms(locale: str, entry: str) -> tuple[str, ...]:
    """All forms of a verb that a table names, without its `+`; what the language has no rule for as it is."""
    rule = _RULES.get(locale)
    return (entry,) if rule is None else tuple(dict.fromkeys(rule(entry)))


def _german(entry: str) -> list[str]:
    """`prefix|infinitive`, or the infinitive."""
    prefix, _, verb = entry.rpartition("|")
    root = verb[:-2] if verb.endswith("en") else verb[:-1]
    # After a t or d the ending needs a vowel: er schaltet; sammeln has it before: ich sammle, er sammelt.
    ending = "e" if verb.endswith("en") and (root.endswith(("t", "d", "ffn", "chn", "tm", "gn", "ckn"))) else ""
    first = root[:-2] + root[-1] + "e" if verb.endswith("eln") else root + "e"
    plain = [verb, f"{verb} sie", first, root + ending + "t", root + ending + "st"]
    if not prefix:
        return plain
    return [prefix + verb, f"{prefix}zu{verb}", *(prefix + form for form in plain[2:]), *plain]


def _spanish(entry: str) -> list[str]:
    """The infinitive, with `/` and the stem of the stressed forms where that is another one."""
    infinitive, _, stressed = entry.partition("/")
    kind, root = infinitive[-2:], infinitive[:-2]
    strong = stressed or root
    polite = _softened(strong, kind)
    forms = [infinitive, root + ("ad" if kind == "ar" else kind[0] + "d")]
    if kind == "ar":
        forms += [
            strong + "a",
            strong + "an",
            strong + "o",
            polite + "e",
            polite + "en",
            _softened(root, kind) + "emos",
        ]
    else:
        forms += [strong + "e", strong + "en", polite + "a", polite + "an", polite + "amos"]
    forms += [infinitive + clitic for clitic in _CLITICS]
    # The accent that these forms carry (revísalo) is folded away by whoever looks them up.
    forms += [strong + vowel + clitic for vowel in ("a" if kind == "ar" else "e") for clitic in _CLITICS[:6]]
    return forms + [polite + ("e" if kind == "ar" else "a") + clitic for clitic in _CLITICS[:6]]


def _softened(root: str, kind: str) -> str:
    """The root before the vowel of the polite form, spelled as it sounds: apagar, apague; recoger, recoja."""
    if kind == "ar":
        for ending, soft in (("gu", "gü"), ("c", "qu"), ("g", "gu"), ("z", "c")):
            if root.endswith(ending):
                return root[: -len(ending)] + soft
    elif root.endswith("gu"):
        return root[:-1]
    elif root.endswith("g"):
        return root[:-1] + "j"
    elif root.endswith("c"):
        return root[:-1] + ("zc" if root[-2:-1] in "aeou" else "z")
    return root


def _french(entry: str) -> list[str]:
    """The infinitive, with `/` and the stem of the stressed forms where accents do not show it: appeler/appell."""
    infinitive, _, stressed = entry.partition("/")
    kind, root = infinitive[-2:], infinitive[:-2]
    strong = stressed or root
    if kind == "er":
        soft = root + "e" if root.endswith("g") else root[:-1] + "ç" if root.endswith("c") else root
        if root.endswith(("oy", "uy", "ay")) and not stressed:
            strong = root[:-1] + "i"  # nettoyer, nettoie; essuyer, essuie
        return [infinitive, strong + "e", root + "ez", soft + "ons", strong + "ent"]
    if kind == "ir":
        return [infinitive, root + "is", root + "it", root + "issez", root + "issons", root + "issent"]
    return [infinitive, root + "s", root, root + "ez", root + "ons", root + "ent"]


_RULES: Final[Mapping[str, Callable[[str], list[str]]]] = {"de": _german, "es": _spanish, "fr": _french}
