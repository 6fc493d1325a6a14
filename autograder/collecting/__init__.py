"""Brings submissions from wherever they were handed in into nbgrader's layout.

Imports ``judging``.
"""
