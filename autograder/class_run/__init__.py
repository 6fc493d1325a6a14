"""Grades a class on this machine: finds its notebooks, judges them, stores each result as it comes.

Imports ``judging`` and its imports, and from ``releasing`` the students' library.
"""
