"""Crash tests of a delivery by enumeration: an operator is cut at each of its steps.

A scenario is played once to record the steps of an operator: calls of the Kubernetes API, permits, network steps. Then
it is played again for each of these points and each fate that an operator can meet there; a successor finishes the
work, and what receivers got and what the cluster stores is judged.
"""
