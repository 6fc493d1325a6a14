"""The site around the text: styles and scripts, accessible HTML, previews of links, tags, dates.

Imports nothing else of ``course_book``.
"""
