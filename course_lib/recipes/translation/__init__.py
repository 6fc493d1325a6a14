"""Translation of Multi30k: from two files of sentences to BLEU.

``python -m course_lib.recipes.translation train|evaluate|translate``; ``presets.py`` says what is
trained, and ``run_folder.py`` what a run leaves behind.
"""
