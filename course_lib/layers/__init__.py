"""Layers, attention masks and KV caches, from which the models are made.

Imports nothing else of ``course_lib``.
"""
