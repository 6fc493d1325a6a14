"""Figures: vector graphics with an alternative text.

Imports ``analysis``, ``generation``, ``models``, ``layers``, ``tokenization``, ``data``,
``metrics`` and ``training``.
"""
