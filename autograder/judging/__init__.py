"""Grades one submission: reads the notebook, runs its cells and the checks, returns the result.

Imports ``course_lib``, ``homework_source`` and ``sandbox``.
"""
