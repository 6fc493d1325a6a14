"""Layers, attention masks and KV caches, from which the models are made.

Imports no other room.
"""
