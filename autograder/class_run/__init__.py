"""Grades a class on this machine: finds its notebooks, judges them, stores each result as it comes.

Imports ``judging`` and what that stands on, and from ``releasing`` the students' library.
"""
