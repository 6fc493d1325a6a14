"""Evaluation metrics: perplexity, BLEU, alignment error.

Imports no other room.
"""
