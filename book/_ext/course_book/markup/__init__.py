"""Markup of other extensions, adjusted: formulas, citations, glossaries, listings, exercises.

Imports ``site`` alone of ``course_book``.
"""
