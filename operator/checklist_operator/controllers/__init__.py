"""One controller for each concern: it is shown objects (`observe`) and reconciles them to their desired state."""
