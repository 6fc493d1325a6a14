"""Chapters as notebooks: run for the build, and handed out to run elsewhere.

Imports ``directives`` and ``markup``, since a notebook says in plain Markdown what they show, and
the digests of ``site``.
"""
