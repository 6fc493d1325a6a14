"""Bahdanau's decoder, running: each word's look at the source, which the reader may move."""
