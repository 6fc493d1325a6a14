"""Decoding: greedy search, beam search and sampling, and what a model needs to be decoded.

A search drives a ``StepModel``; ``cached``, ``static``, ``recomputing`` and ``recurrent_step`` make
one of a model. Imports ``models`` and ``layers``.
"""
