"""What `checklist-dispatch doctor` looks at: the cluster, the work that waits in it, and what is around it.

Each check yields findings in words; none of them changes anything but a probe in the stores, which it takes away again.
"""
