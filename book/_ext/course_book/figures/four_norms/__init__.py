"""A vector to move, and what four normalisations make of it."""
