"""Shared by all commands: exit statuses, the options for the cluster, progress, text for a terminal."""
