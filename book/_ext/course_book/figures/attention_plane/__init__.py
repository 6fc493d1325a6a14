"""A query and keys as arrows that the reader drags; scores, weights and the mixed value follow."""
