"""Converts a prompt to tokens, labelled spans, items with details and conditions, and a draft."""

from .reader import Prompt, Reading

__all__ = ["Prompt", "Reading"]
