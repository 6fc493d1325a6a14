"""The reference library of the course: every layer written once, in rooms by purpose.

``layers`` <- ``models`` <- ``generation`` <- ``analysis`` <- ``plotting`` <- ``recipes``: a room
imports from those before it. ``tokenization``, ``data``, ``metrics`` and ``training`` stand beside
them and know no model. ``course_map`` says which chapter and homework each module belongs to.

Sizes are ints of at least 1, a wrong argument is a TypeError or ValueError that names it, and an
attribute that is not described holds the argument of its name.
"""

__version__ = "1.0.0"
