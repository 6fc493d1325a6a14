"""Homework sources: reads and checks `solutions/*.py`, and represents a homework in memory.

Imports ``sandbox``, for the names of the packages that students may use.
"""
