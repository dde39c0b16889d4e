"""Training of the composer's labeller and of its refusals, from the labelled prompts in `composer/training`."""
