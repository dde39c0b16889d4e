"""The command line of Checklist Dispatch: `checklist-dispatch COMMAND`.

For receivers of webhooks and administrators of an installation. It depends on `checklist_crds`, and `generate` on the
composer, but never on API or operator, so it checks both independently of their code.
"""
