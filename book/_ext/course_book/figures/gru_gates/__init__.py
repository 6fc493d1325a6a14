"""A GRU reads a sentence downwards; wires are as thick as its gates."""
