"""The course's figures, as vector graphics with an alternative text.

Imports everything but ``recipes``.
"""
