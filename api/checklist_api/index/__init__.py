"""In-memory SQLite indexes of runs and deliveries, fed by watches, and the history of a delivery."""
