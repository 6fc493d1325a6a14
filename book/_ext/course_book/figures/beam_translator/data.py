"""The data of the figure ``beam-translator``: a translator, and sentences with the truth."""

from course_book.figures.translator_sentences import TranslatorSentences


class BeamTranslator(TranslatorSentences):
    """The translator that is asked for many beginnings."""
