"""Brings submissions of learning platforms into nbgrader's layout.

Imports ``judging``.
"""
