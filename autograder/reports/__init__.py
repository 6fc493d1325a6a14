"""Writes feedback for students, and the report and the grades for the staff.

Imports ``homework_source``, ``judging`` and ``marks``.
"""
