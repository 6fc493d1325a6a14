"""Diagrams: boxes, tensors, operations and wires, given as data and drawn as SVG at build.

The ``catalogue`` gives the row and column of each box; ``layout`` computes coordinates. Imports
nothing else of ``course_book``.
"""
