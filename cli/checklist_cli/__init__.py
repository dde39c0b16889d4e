"""The command line of Checklist Dispatch: `checklist-dispatch COMMAND`.

For the people around the service: who receives its webhooks (`listen`, `verify`) and who operates it (`reseal`). One
module describes one command (`*_command`); what it does is in modules of its own, which know nothing of argparse.
It stands on `checklist_crds` only: what the API and the operator do is checked here from outside.
"""
