"""A homework as its instructor writes it: the source, its rules, the model in memory.

Imports ``sandbox.worker``, for what Python says of a text, and the names of students' packages.
"""
