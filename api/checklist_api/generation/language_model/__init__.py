"""Templates by a language model: asking, reading and judging its answer within bounds."""
