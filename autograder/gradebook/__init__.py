"""nbgrader's side: its gradebook, its folders, the judge instead of its ``Execute``.

Imports ``class_run``, ``marks``, ``reports``, and what these stand on.
"""
