"""Grades a class on this machine: finds its notebooks, judges them, stores each result as it comes.

Imports ``judging`` and what that imports, and from ``releasing`` the students' library.
"""
