"""A submission's marks: the judge's, a teaching assistant's and deductions; two gradings compared.

Imports ``judging``.
"""
