"""Interactive figures: a folder each, with its class (``figure.py``), its script and its style.

The modules here hold the base class and the directive. Imports nothing else of ``course_book``; a
figure's folder imports only ``figure``, ``translator`` and ``script_lists``.
"""
