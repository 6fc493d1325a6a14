"""A model learns to read backwards: from its first step of training to its last, on any letters."""
