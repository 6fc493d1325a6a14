"""Slides for each lecture: ``python -m scripts.slides DIR [CHAPTER ...]``, or ``make slides``.

Each chapter is a lecture, as in :doc:`for-teachers`. Its deck is made from the chapter's built
page, which has the plots, numbers and formulas: headings, first sentences, formulas, interactive
figures, questions, and each answer on the next slide. The notes contain the rest of the page.

reveal.js shows the slides; its three files are in ``reveal/``, as on npm. nbconvert's slides don't
support the book's directives, show whole cells and load reveal.js from another host.
sphinx-revealjs would build the book a second time, and needs chapters that are written as slides.
"""
