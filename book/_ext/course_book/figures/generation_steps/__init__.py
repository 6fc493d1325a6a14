"""A language model writes, one token a step, and the reader chooses."""
