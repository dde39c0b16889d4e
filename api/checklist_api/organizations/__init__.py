"""Organizations with their plans and limits."""
