"""A synchronous grammar of English and French: sentences, translations, true alignments.

``grammar`` is what callers need. Imports no other room.
"""
