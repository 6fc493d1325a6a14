"""Whole runs on real data, from the text to the published number.

Three commands: ``python -m course_lib.recipes.language_modelling``, ``.pretraining`` and
``.translation``. A recipe holds all that decides a run's outcome; a run's files lie in one folder.

Imports ``plotting``, ``analysis``, ``generation``, ``models``, ``layers``, ``tokenization``,
``data``, ``metrics`` and ``training``.
"""
