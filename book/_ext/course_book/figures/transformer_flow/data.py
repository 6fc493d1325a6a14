"""The data of the figure ``transformer-flow``, checked, and a table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_fields, require_whole

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
"""The stages by the name that the data use, in the order in which they are computed."""

_SIZES = ("batch", "src_len", "tgt_len", "d_model", "num_heads", "d_ff", "tgt_vocab_size")


@dataclass(frozen=True, kw_only=True)
class TransformerFlow(FigureData):
    """The shapes that a Transformer's tensors had on one batch.

    Attributes:
        sizes: ``batch``, ``src_len``, ``tgt_len``, ``d_model``, ``num_heads``, ``d_ff`` and
            ``tgt_vocab_size`` of the run; the figure starts from them.
        shapes: For each stage, the shape of what it gave.
        weights: For each of the three attentions, the shape of its weights.
    """

    sizes: dict[str, int]
    shapes: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        sizes = require_fields(data["sizes"], _SIZES, "sizes")
        for name, size in sizes.items():
            require_whole(name, size, 1)
        if sizes["d_model"] % sizes["num_heads"]:
            raise ValueError(f"d_model must be divisible by num_heads, got {sizes}")
        expected = {
            "shapes": expected_stage_shapes(sizes),
            "weights": expected_weight_shapes(sizes),
        }
        for name, shapes in expected.items():
            found = {stage: tuple(shape) for stage, shape in data[name].items()}
            if found != shapes:
                raise ValueError(f"{name} must be {shapes}, got {found}")
        return expected

    def table(self) -> str:
        """Return the stages and their shapes as an HTML table."""
        rows = [
            [words, str(self.shapes[stage]), str(self.weights.get(stage, ""))]
            for stage, words in STAGES.items()
        ]
        return html_table(
            "What flows through the model, in the order in which it is computed.",
            ["stage", "shape of its output", "shape of its attention weights"],
            rows,
        )


def expected_stage_shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Derive the shape of each stage's output.

    Args:
        sizes: As in ``TransformerFlow``.

    Returns:
        The shapes by stage.
    """
    batch, width = sizes["batch"], sizes["d_model"]
    source, target = (batch, sizes["src_len"]), (batch, sizes["tgt_len"])
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STAGES, (*target, width))
    for stage in ("src_embedding", "encoder_self_attention", "encoder_feed_forward", "memory"):
        shapes[stage] = (*source, width)
    return shapes | {
        "src": source,
        "tgt": target,
        "logits": (*target, sizes["tgt_vocab_size"]),
    }


def expected_weight_shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Derive the shape of each attention's weights.

    Args:
        sizes: As in ``TransformerFlow``.

    Returns:
        The shapes by stage.
    """
    heads = (sizes["batch"], sizes["num_heads"])
    source, target = sizes["src_len"], sizes["tgt_len"]
    return {
        "encoder_self_attention": (*heads, source, source),
        "decoder_self_attention": (*heads, target, target),
        "cross_attention": (*heads, target, source),
    }
