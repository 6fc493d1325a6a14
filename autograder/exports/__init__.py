"""Points and feedback in the forms that Canvas, Moodle and Gradescope import.

Reads results only. Imports ``judging``, ``marks`` and ``reports``.
"""
