"""A synchronous grammar of English and French: sentences, translations, true alignments.

``grammar`` is the room's door. Imports nothing else of ``course_lib``.
"""
