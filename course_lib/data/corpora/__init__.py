"""Real corpora: a catalogue with licences, and readers that return plain Python.

``python -m course_lib.data.corpora`` lists them; ``readers`` reads them. Imports nothing else of
``course_lib``.
"""
