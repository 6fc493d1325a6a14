"""The figure ``transformer-flow``: the shapes of a Transformer's tensors, stage by stage."""

from course_book.figures.figure import Figure, html_table

STAGES = {
    "src": "source tokens",
    "src_embedding": "source, embedded and placed",
    "encoder_self_attention": "encoder: self-attention",
    "encoder_feed_forward": "encoder: feed-forward",
    "memory": "memory",
    "tgt": "target tokens",
    "tgt_embedding": "target, embedded and placed",
    "decoder_self_attention": "decoder: masked self-attention",
    "cross_attention": "decoder: cross-attention",
    "decoder_feed_forward": "decoder: feed-forward",
    "logits": "logits",
}
"""The stages by their names in the data, in the order of computation."""


class TransformerFlow(Figure):
    """The tensors of a Transformer, stage by stage, for the sizes that the reader chooses.

    Attributes:
        sizes: ``batch``, ``src_len``, ``tgt_len``, ``d_model``, ``num_heads``, ``d_ff`` and
            ``tgt_vocab_size`` at first.
        shapes: The shape of each stage's output, by a key of ``STAGES``.
        weights: The shapes of the attention weights of the three stages that have some.
    """

    sizes: dict[str, int]
    shapes: dict[str, list[int]]
    weights: dict[str, list[int]]

    def table(self) -> str:
        """Return a table of the stages and their shapes."""
        weights = {stage: str(tuple(shape)) for stage, shape in self.weights.items()}
        rows = [
            [words, str(tuple(self.shapes[stage])), weights.get(stage, "")]
            for stage, words in STAGES.items()
        ]
        return html_table(
            "What flows through the model, in the order in which it is computed.",
            ["stage", "shape of its output", "shape of its attention weights"],
            rows,
        )
