"""The command line of Checklist Dispatch: `checklist-dispatch COMMAND`.

For receivers of webhooks and operators of an installation. It depends on `checklist_crds` only, so it checks API and
operator independently of their code.
"""
