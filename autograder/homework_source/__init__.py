"""The instructor's side of a homework: its source, what students get of it, its model in memory.

Imports ``atomic_write`` alone.
"""
