"""Building blocks: modules from which the models are made, with masks and KV caches.

Imports no other room.
"""
