"""nbgrader's side: its gradebook, its folders, the judge in the place of its ``Execute``.

Imports ``class_run``, ``judging`` and ``marks``.
"""
