"""Tokenizers and vocabularies: from text to token ids and back.

Imports nothing else of ``course_lib``.
"""
