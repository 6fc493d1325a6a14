"""Data sets and batches: toy tasks with a known truth, a translation grammar, real corpora.

Imports ``tokenization`` and ``layers.masks``.
"""
