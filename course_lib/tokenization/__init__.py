"""Tokenizers and vocabularies: from text to token ids and back.

Imports no other room.
"""
