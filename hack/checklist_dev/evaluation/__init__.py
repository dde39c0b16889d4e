"""How good the composer's templates are: prompts of many trades, and what a person would expect to find in each."""
