"""The options that say which cluster is meant, and which installation in it: the same words in every command."""

import os
from argparse import ArgumentParser


def add_kubeconfig_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="the cluster (default: KUBECONFIG, ~/.kube/config, the pod)"
    )


def add_namespace_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        default=os.environ.get("CHECKLISTS_NAMESPACE") or "checklists",
        help="namespace of the installation (default: CHECKLISTS_NAMESPACE, else checklists)",
    )
