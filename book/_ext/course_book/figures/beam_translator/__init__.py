"""Beam search over the translator that runs in the page: any sentence, any width."""
