"""Templates and their versions (`/v1/templates`)."""
