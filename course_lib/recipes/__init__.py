"""Whole runs on real data, from the text to the published number.

Three commands train: ``python -m course_lib.recipes.language_modelling``, ``.pretraining`` and
``.translation``. A recipe holds all that decides a run's outcome; a run's files lie in one folder.
``python -m course_lib.recipes.chat`` talks to a model that others trained.

Imports ``plotting``, ``analysis``, ``generation``, ``models``, ``layers``, ``tokenization``,
``data``, ``metrics`` and ``training``.
"""
