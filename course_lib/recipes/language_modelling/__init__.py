"""A language model of Shakespeare's plays, character by character: from one file to new scenes.

``python -m course_lib.recipes.language_modelling train|sample``; ``presets.py`` says what is
trained, and ``run.py`` what a run leaves behind.
"""
