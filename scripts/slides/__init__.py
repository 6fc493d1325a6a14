"""Slides for each lecture: ``python -m scripts.slides DIR [CHAPTER ...]``, or ``make slides``.

A lecture is a chapter, as :doc:`for-teachers` counts lectures. Its deck is made from the
chapter's built page, where plots are drawn, numbers known and formulas typeset, so that nothing is
told twice: headings, first sentences, formulas, figures (which react as in the book), questions,
and each answer on the slide after. All else that the page says is in the speaker notes.

reveal.js shows it, the field's standard for slides in a browser; its three files lie in
``reveal/``, as npm has them. nbconvert's slides know no directive of the book, show whole cells and
load reveal.js from another host; sphinx-revealjs would build the book a second time, and needs
chapters that are written as slides.
"""
