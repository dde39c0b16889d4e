"""The commands of `kubectl checklists`: they use the cluster alone, with the kubeconfig and rights of the caller."""
