"""Templates by a language model: request, validation and checks within bounds."""
