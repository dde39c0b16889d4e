"""From a text to a draft: what its writer says, in rules of language over tables of words.

`outline` finds headings and lists, `clauses` what is listed in a sentence, `steps` what a clause asks for.
"""

from .reader import Reading, read

__all__ = ["Reading", "read"]
