"""What a prompt asks for: tokens, labelled spans, items with their details and conditions, and a draft of them."""

from .reader import Prompt, Reading

__all__ = ["Prompt", "Reading"]
