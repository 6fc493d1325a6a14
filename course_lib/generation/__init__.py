"""Decoding: greedy search, beam search, sampling, and step models.

A search drives a ``StepModel``; ``step_models`` makes one of a model. Imports ``models`` and
``layers``.
"""
