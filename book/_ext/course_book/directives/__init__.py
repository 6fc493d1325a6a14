"""Directives: questions to the reader, and tables of what the course offers.

Imports nothing else of ``course_book``. The directive ``interactive`` lies with its ``figures``.
"""
