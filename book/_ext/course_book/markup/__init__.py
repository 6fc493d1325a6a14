"""Markup that other extensions bring: their formulas, citations, glossaries, exercises, adjusted.

Imports nothing else of ``course_book``.
"""
