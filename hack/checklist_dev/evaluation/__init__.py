"""Evaluates the composer's templates with prompts of many trades and the features expected in each."""
