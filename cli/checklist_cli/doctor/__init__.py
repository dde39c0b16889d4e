"""The checks of `checklist-dispatch doctor`: the cluster, the work in it, and the services it uses.

Each check yields findings. None changes anything except a probe object in each store, which it deletes.
"""
