"""What one more object costs, and what the programs need at rest."""
