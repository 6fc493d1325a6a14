"""Grades a class on the workers of a Dask scheduler instead of on this machine.

Imports ``class_run`` and what is below it; ``class_run`` does not need it.
"""
