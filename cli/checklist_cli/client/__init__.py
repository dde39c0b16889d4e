"""Clients of the REST API: the key, an export to a file, a generated template as text."""
