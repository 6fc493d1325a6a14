"""The book's diagrams by name."""

from dataclasses import dataclass

from course_book.diagrams.catalogue import (
    attention,
    grids,
    layers,
    recurrent,
    sequences,
    transformers,
)
from course_book.diagrams.parts import Diagram


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A diagram, or several between which readers choose.

    Attributes:
        variants: By the names of the choice; the first is shown at first.
        legend: What is chosen; empty if there is one variant.
    """

    variants: dict[str, Diagram]
    legend: str = ""


def _one(diagram: Diagram) -> Drawing:
    return Drawing(variants={diagram.title: diagram})


DIAGRAMS: dict[str, Drawing] = {
    "additive-score": _one(attention.additive()),
    "bahdanau-step": _one(recurrent.bahdanau()),
    "bert": _one(transformers.bert()),
    "captioner": _one(layers.captioner()),
    "clipped-matches": _one(sequences.clipped_matches()),
    "decoder-only": _one(transformers.decoder_only()),
    "deep-network": _one(recurrent.deep()),
    "encoder-decoder": _one(recurrent.encoder_decoder()),
    "families": _one(layers.families()),
    "feed-forward": _one(layers.feed_forward()),
    "gru-cell": _one(recurrent.gru()),
    "kv-cache": _one(attention.kv_cache()),
    "lstm-cell": _one(recurrent.lstm()),
    "masked-words": _one(sequences.masked_words()),
    "masks": _one(grids.masks()),
    "multi-head-attention": _one(attention.multi_head()),
    "next-word": _one(sequences.next_word()),
    "published-weights": _one(layers.published_weights()),
    "reordered-cache": _one(attention.reordered_cache()),
    "residual": _one(layers.residual()),
    "rotary": _one(attention.rotary()),
    "scaled-dot-product": _one(attention.scaled_dot_product()),
    "search-tree": _one(sequences.search_tree()),
    "square-of-length": _one(grids.square_of_length()),
    "sublayer": _one(transformers.sublayer()),
    "sum-over-heads": _one(attention.sum_over_heads()),
    "task-shapes": _one(sequences.task_shapes()),
    "teacher-forcing": _one(sequences.teacher_forcing()),
    "transformer": Drawing(
        legend="Norms",
        variants={
            "pre-norm": transformers.transformer("pre"),
            "post-norm": transformers.transformer("post"),
        },
    ),
    "which-mean": _one(grids.which_mean()),
    "word-and-place": _one(sequences.word_and_place()),
}
