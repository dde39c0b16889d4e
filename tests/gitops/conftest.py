"""Fixtures of the GitOps tests: a namespace with an operator, as the tests of the operator have it."""

from tests.cluster.conftest import client, lab, operator, receiver, start_operator

__all__ = ["client", "lab", "operator", "receiver", "start_operator"]
