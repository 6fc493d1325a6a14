"""A training step of ``DecoderLM`` beside one of ``transformers.GPT2LMHeadModel``.

python -m benchmarks.gpt
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.gpt_pair import gpt_pair
from benchmarks.measure import Comparison, compare, devices, table, training_step

VOCAB_SIZE = 1000


def rows() -> list[Comparison]:
    """Time training steps on a short, a long and a very long sequence."""
    return [
        step_row(batch, length, 256, 4, 4, pairs=pairs, device=device)
        for device in devices()
        for batch, length, pairs in ((8, 128, 15), (1, 1024, 9), (1, 4096, 5))
    ]


def step_row(
    batch: int,
    length: int,
    d_model: int,
    num_heads: int,
    num_layers: int,
    *,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a training step of our GPT-2 and that of ``transformers``, ``pairs`` times.

    A step is forward, backward and AdamW's update; neither model has dropout.
    """
    torch.manual_seed(0)
    sizes = {"d_model": d_model, "num_heads": num_heads, "num_layers": num_layers}
    ours, theirs = (m.to(device) for m in gpt_pair(length, vocab_size=VOCAB_SIZE, **sizes))
    tokens = torch.randint(VOCAB_SIZE, (batch, length + 1), device=device)

    def run_theirs(token_ids: Tensor) -> Tensor:
        return theirs(token_ids, use_cache=False).logits

    with torch.no_grad():
        torch.testing.assert_close(
            ours(tokens[:, :-1]), run_theirs(tokens[:, :-1]), rtol=1e-3, atol=1e-4
        )
    return compare(
        f"training step: {batch} x {length:,} tokens, d_model {d_model}, {num_layers} layers",
        training_step(ours, lambda: loss_of(ours, tokens)),
        "`transformers.GPT2LMHeadModel`",
        training_step(theirs, lambda: loss_of(run_theirs, tokens)),
        pairs=pairs,
        device=device,
    )


def loss_of(logits_of: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy of each next token of ``tokens``, ``(batch, length + 1)``."""
    return F.cross_entropy(logits_of(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
