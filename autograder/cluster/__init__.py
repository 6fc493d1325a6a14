"""Grades a class on the workers of a Dask scheduler instead of on this machine.

Imports ``class_run`` and the rooms below; ``class_run`` does not import it.
"""
