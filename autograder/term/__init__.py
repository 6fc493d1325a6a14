"""A term of homeworks: due dates, lateness, each student's total, pages about the whole course.

Reads results only; grading works without it. Imports ``judging``, ``marks`` and ``reports``.
"""
