"""Organizations, their plans and limits, and the runs they have used."""
