"""Whole training runs on real data, as commands.

``python -m course_lib.recipes.language_modelling``, ``.pretraining`` and ``.translation`` train
models; a recipe has all settings that decide a run's outcome, and a folder has the run's files.
``python -m course_lib.recipes.chat`` is a chat with SmolLM2.

Imports ``plotting``, ``analysis``, ``generation``, ``models``, ``layers``, ``tokenization``,
``data``, ``metrics`` and ``training``.
"""
