"""Looking inside: recorders, experiments with a known truth, costs counted by formula.

Imports everything but ``plotting`` and ``recipes``.
"""
