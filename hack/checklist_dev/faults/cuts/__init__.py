"""A delivery's life, cut at each of its steps: what the crash rule promises, proved by enumeration.

A scenario is played once to record the steps of an operator: every call of the Kubernetes API, every permit, every
step on the network. Then it is played anew for each of these points and each fate that an operator can meet there; a
successor finishes the work, and what receivers got and what the cluster keeps is judged.
"""
