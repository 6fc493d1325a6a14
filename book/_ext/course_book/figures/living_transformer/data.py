"""The data of the figure ``living-transformer``: a translator, and sentences with the truth."""

from course_book.figures.translator_sentences import TranslatorSentences


class LivingTransformer(TranslatorSentences):
    """The translator that is taken apart."""
