"""Decoding: greedy search, beam search and sampling, and what a model needs to be decoded.

A search drives a ``StepModel``; ``step_models`` makes one of a model. Imports ``models`` and
``layers``.
"""
