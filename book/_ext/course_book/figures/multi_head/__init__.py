"""Where each head looks, how it votes, and what is left without it."""
