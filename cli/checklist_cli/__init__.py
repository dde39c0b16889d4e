"""The command line of Checklist Dispatch: `checklist-dispatch COMMAND`.

For the people around the service: who receives its webhooks (`listen`, `verify`) and who operates it (`reseal`). It
stands on `checklist_crds` only: what the API and the operator do is checked here from outside.
"""
