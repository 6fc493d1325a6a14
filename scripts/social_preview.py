"""Draw the picture for shared links to the book: ``python -m scripts.social_preview``.

The picture of the first page, computed anew: a model learns to read backwards.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.analysis.attention_reader import AttentionReader, AttentionReaderConfig
from course_lib.data.toy_tasks import AlignedBatch, draw_reverse
from course_lib.plotting.picture import COLORS, INK
from course_lib.training.loop import TrainingConfig, train

FILE = Path(__file__).parent.parent / "book" / "_static" / "social-preview.png"
INCHES = (12.0, 6.3)  # at 100 pixels per inch; the size for social networks


def attention_after(steps: int) -> Tensor:
    """Train a model that reverses sequences, and return its attention weights for a new one.

    Their shape is (8, 8): position written, position attended to.
    """

    def draw(step: int, batch_size: int = 64) -> AlignedBatch:
        generator = torch.Generator().manual_seed(step)
        return draw_reverse(
            batch_size, min_length=8, max_length=8, num_symbols=16, generator=generator
        )

    def loss(model: AttentionReader, batch: AlignedBatch) -> Tensor:
        return F.cross_entropy(model(batch.src, batch.src).flatten(0, 1), batch.tgt.flatten())

    torch.manual_seed(1)
    reader = AttentionReader(AttentionReaderConfig(vocab_size=18, max_length=8, d_model=32))
    train(reader, draw, loss, TrainingConfig(steps=steps, learning_rate=1e-2))
    unseen = draw(1_000_000, 1)
    with torch.no_grad():
        _, weights = reader(unseen.src, unseen.src, return_weights=True)
    return weights[0, 0]


def preview() -> Figure:
    """Return the picture: the title, and the attention after 1, 15 and 100 steps of training."""
    figure = Figure(figsize=INCHES, dpi=100, facecolor="white")
    figure.text(0.06, 0.84, "From Seq2Seq to", size=44, weight="bold", color=INK)
    figure.text(0.06, 0.71, "Transformers and BERT", size=44, weight="bold", color=INK)
    words = "A book that runs, a library that explains itself, homework that answers"
    figure.text(0.06, 0.61, words, size=19, color=COLORS["mask"])
    for column, steps in enumerate((1, 15, 100)):
        axes = figure.add_axes((0.06 + 0.31 * column, 0.1, 0.26, 0.43))
        axes.imshow(attention_after(steps), cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel(f"{steps} step{'s' * (steps > 1)}", size=17, color=INK)
        for spine in axes.spines.values():
            spine.set_color(COLORS["mask"])
    return figure


if __name__ == "__main__":
    preview().savefig(FILE)
