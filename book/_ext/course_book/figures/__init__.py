"""Interactive figures: a folder each, with the data checked (Python), the script and the style.

At the top lies what they share, and the directive that shows them. A figure's folder imports
nothing of another's, and this room nothing else of ``course_book``.
"""
