"""Lists of scripts that several figures load, in the order in which they run."""

ATTENTION = ("engine/matrices.js", "engine/attention.js", "engine/weights.js")
"""Attention, and the parameters of a model."""

TRANSFORMER = (*ATTENTION, "engine/transformer.js", "engine/greedy.js")
"""A Transformer that translates."""

SENTENCE_FORM = ("engine/loading.js", "living-transformer/sentence-form.js")
"""A field for a sentence, and a button that loads a model."""

ATTENTION_DECODER = (
    *(*ATTENTION, "gru-gates/cell.js", "engine/attention-decoder.js"),
    *(f"living-transformer/{part}.js" for part in ("words", "swatches", "tables", "results")),
    *(f"living-decoder/{part}.js" for part in ("writing", "word-player", "score", "next-words")),
)
"""A recurrent decoder with attention, and the views of its steps."""
