"""Grades a class on this machine: finds its notebooks, judges them, stores each result as it comes.

Imports ``judging`` and the rooms below it, and from ``releasing`` the students' library.
"""
