"""The audit trail: entries written before an action, their index and export."""
