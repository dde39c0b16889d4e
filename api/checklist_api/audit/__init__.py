"""The audit trail: entries written before an act, their index and export."""
