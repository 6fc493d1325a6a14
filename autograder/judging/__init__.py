"""One submission, judged: what is read of it, its process, the test cells, the results.

Imports ``course_lib``, ``homework_source`` and ``sandbox``.
"""
