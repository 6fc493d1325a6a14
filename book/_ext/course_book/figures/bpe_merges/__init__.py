"""A text in tokens, from single bytes to whole words, by the number of merges."""
