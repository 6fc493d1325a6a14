"""nbgrader's side: its gradebook, its folders, the judge instead of its ``Execute``.

Imports ``class_run``, ``marks``, and what these stand on.
"""
