"""Chapters as notebooks: run by the build, and written for readers to download.

Imports ``directives`` and ``markup``, whose output it writes as plain Markdown, and the digests of
``site``.
"""
