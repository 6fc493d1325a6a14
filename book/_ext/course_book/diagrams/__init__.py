"""Diagrams: boxes, tensors, operations and wires, given as data and drawn as SVG at build.

The ``catalogue`` says the row and column of each box; ``layout`` computes all places. Imports
nothing else of ``course_book``.
"""
