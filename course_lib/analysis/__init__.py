"""Looking inside: recorders, experiments with a known truth, costs counted by formula.

Imports ``generation``, ``models``, ``layers``, ``tokenization``, ``data``, ``metrics`` and
``training``.
"""
