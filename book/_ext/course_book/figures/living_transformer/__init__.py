"""A Transformer that the page runs: open to the last number, and to be taken apart."""
