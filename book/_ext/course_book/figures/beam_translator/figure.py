"""The figure ``beam-translator``: beam search with a translator in the page."""

from course_book.figures.script_lists import SENTENCE_FORM, TRANSFORMER
from course_book.figures.translator import Translator


class BeamTranslator(Translator):
    """Beam search over a typed sentence by the translator in the page, drawn as a tree."""

    scripts = (
        *(*SENTENCE_FORM, "beam-search/search.js", "beam-search/tree.js"),
        "beam-search/drawing.js",
    )
    deferred = (*TRANSFORMER, "engine/followers.js", "living-transformer/words.js")
    styles = ("beam-search", "living-transformer")
