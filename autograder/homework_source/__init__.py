"""The instructor's side of a homework: its source, what students get of it, its model in memory.

Imports ``sandbox.worker``, for what Python says of a text.
"""
