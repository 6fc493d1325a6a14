"""What people read: feedback for students, the report and the grades for the staff.

Imports ``class_run``, ``judging`` and ``marks``.
"""
