"""Generates templates with a language model, within limits and with validation."""
