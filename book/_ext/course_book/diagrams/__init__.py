"""Diagrams: boxes, tensors, operations and wires, given as data and drawn as SVG at build.

A diagram says what it holds and in which row and column; everything else is computed. The
``catalogue`` has those of the book. Imports nothing else of ``course_book``.
"""
