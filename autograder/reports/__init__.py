"""What people read: feedback for students, the report and the grades for the staff.

Imports ``homework_source``, ``judging`` and ``marks``.
"""
