"""Templates from a prompt, without any account elsewhere and without network: the same prompt, the same template.

`reading` finds in the text what its writer says: items, bounds, choices, conditions. `library` has building blocks for
jobs that are only named. Both make a `draft`; `finishing` turns a draft into a definition that create accepts.
"""
