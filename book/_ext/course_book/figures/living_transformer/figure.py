"""The figure ``living-transformer``: every number of a translator, layer by layer."""

from course_book.figures.script_lists import SENTENCE_FORM, TRANSFORMER
from course_book.figures.translator import Translator

_WORKBENCH = (
    *("words", "stages", "surgery", "truth", "swatches", "drawing", "tables", "results"),
    *("player", "lens-attention", "lens-vectors", "lens", "workbench"),
)


class LivingTransformer(Translator):
    """A translator in the page, whose every number the reader can look at, layer by layer."""

    scripts = (
        *(*SENTENCE_FORM, "living-transformer/own-model.js"),
        *("living-transformer/questions.js", "living-transformer/opening.js"),
    )
    deferred = (
        *(*TRANSFORMER, "engine/file-checks.js", "engine/translator-file.js"),
        *(f"living-transformer/{part}.js" for part in _WORKBENCH),
    )
    wide = True
