"""What a prompt asks for: tokens, labelled spans, items with their details and conditions, and a draft of them."""

from .reader import Reading, asks_for_checklist, read

__all__ = ["Reading", "asks_for_checklist", "read"]
