"""The nbgrader side of grading: its gradebook, its course folders and the judge as its plug-in.

Imports ``class_run``, ``marks``, ``reports``, and the rooms below them.
"""
