"""Generates templates from a prompt (contract section 2), with the built-in composer or a language model."""
