"""Evaluation metrics: perplexity, BLEU, alignment error.

Imports nothing else of ``course_lib``.
"""
