"""Whole runs on real data, from the text to the published number.

Each recipe is a package with a command, such as ``python -m course_lib.recipes.translation``. It
puts the library's parts together and adds none of its own.

Imports ``plotting``, ``analysis``, ``generation``, ``models``, ``layers``, ``tokenization``,
``data``, ``metrics`` and ``training``.
"""
