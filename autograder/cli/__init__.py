"""The command line: one module a command; heavy imports stand inside the functions that need them.

``grade``, with ``grading`` and ``class_results``, is the core; other commands read
the stored results.
"""
