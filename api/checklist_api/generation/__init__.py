"""Templates from a prompt (contract section 2): by the built-in composer, or by a language model."""
