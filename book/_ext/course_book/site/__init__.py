"""The site around the text: styles and scripts, corrected HTML, previews of links, metadata.

Imports nothing else of ``course_book``.
"""
