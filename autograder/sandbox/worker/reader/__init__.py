"""Reads a notebook's code before it runs: what it leads to, and what of it can't be followed.

It runs in a worker, where a text that brings Python's parser down does no harm, and where none of
the student's code has run.
"""
