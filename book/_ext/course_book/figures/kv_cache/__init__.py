"""A text written step by step, with and without a cache, and its bytes."""
