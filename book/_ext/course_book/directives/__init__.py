"""Directives: questions to the reader, and tables about the course.

Imports ``site`` alone of ``course_book``. The directive ``interactive`` lies with its ``figures``.
"""
