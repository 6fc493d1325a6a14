"""Real corpora: what there is, under which licence, and readers that give it as plain Python.

``python -m course_lib.data.corpora`` lists them; ``readers`` is the room's door. Imports nothing
else of ``course_lib``.
"""
