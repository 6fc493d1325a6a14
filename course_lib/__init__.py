"""The reference library of the course: every layer written once, in rooms by what they are for.

``layers`` <- ``models`` <- ``generation`` <- ``analysis`` <- ``plotting`` <- ``recipes``: a room
imports from those before it. ``tokenization``, ``data``, ``metrics`` and ``training`` stand beside
them and know no model. ``course_map`` says which chapter and homework each module belongs to.
"""

__version__ = "0.1.0"
