"""Building blocks: modules from which the models are made, with masks and KV caches.

Imports nothing else of ``course_lib``.
"""
