"""Attention, forward and backward, beside PyTorch's: the layer, and long causal attention alone.

python -m benchmarks.attention
"""

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.measure import Comparison, compare, devices, table
from course_lib.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.layers.masks import CausalMask, causal_mask
from tests.course_lib.weights import copy_torch_attention


def rows() -> list[Comparison]:
    """Time the attention layer at two sizes, and attention alone over two long sequences."""
    return [
        row
        for device in devices()
        for found in (
            *(
                rows_of_size(batch, length, d_model, num_heads, device)
                for batch, length, d_model, num_heads in ((16, 64, 128, 4), (8, 128, 512, 8))
            ),
            *(long_rows(length, 8, device) for length in (1024, 4096)),
        )
        for row in found
    ]


def rows_of_size(
    batch: int, length: int, d_model: int, num_heads: int, device: str
) -> list[Comparison]:
    """Time forward and backward of our attention layer and PyTorch's, without a mask and causal."""
    theirs = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
    ours = MultiHeadAttention(d_model, num_heads)
    copy_torch_attention(ours, theirs)
    ours, theirs = ours.to(device), theirs.to(device)
    x = torch.randn(batch, length, d_model, device=device, requires_grad=True)
    may = causal_mask(length, device=device)
    found = []
    for kind, mask, settings in (
        ("no mask", None, {}),
        ("causal", may, {"attn_mask": ~may[0, 0], "is_causal": True}),
    ):

        def run_ours(mask: torch.Tensor | None = mask) -> torch.Tensor:
            output = ours(x, x, x, mask)
            output.sum().backward()
            return output

        def run_theirs(settings: dict[str, object] = settings) -> torch.Tensor:
            output, _ = theirs(x, x, x, need_weights=False, **settings)
            output.sum().backward()
            return output

        torch.testing.assert_close(run_ours(), run_theirs(), rtol=1e-4, atol=1e-5)
        found.append(
            compare(
                f"self-attention, forward + backward, {kind}: {batch} x {length} tokens, "
                f"d_model {d_model}, {num_heads} heads",
                run_ours,
                "`torch.nn.MultiheadAttention`",
                run_theirs,
                pairs=25,
                device=device,
            )
        )
    return found


def long_rows(length: int, num_heads: int, device: str) -> list[Comparison]:
    """Time forward and backward of causal attention without projections, beside PyTorch's.

    One row is with the mask as a tensor, the other with a ``CausalMask``.
    """
    shape = (1, num_heads, length, 64)
    query, key, value = (torch.randn(shape, device=device, requires_grad=True) for _ in range(3))
    found = []
    for kind, mask in (
        ("`causal_mask`", causal_mask(length, device=device)),
        ("`CausalMask`", CausalMask(length)),
    ):

        def run_ours(mask: torch.Tensor | CausalMask = mask) -> torch.Tensor:
            output = scaled_dot_product_attention(query, key, value, mask)
            output.sum().backward()
            return output

        def run_theirs() -> torch.Tensor:
            output = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            output.sum().backward()
            return output

        torch.testing.assert_close(run_ours(), run_theirs(), rtol=1e-4, atol=1e-5)
        found.append(
            compare(
                f"causal attention, forward + backward, {kind}: {length:,} tokens, "
                f"{num_heads} heads of 64",
                run_ours,
                "`F.scaled_dot_product_attention(is_causal=True)`",
                run_theirs,
                pairs=7,
                target=0.9,
                device=device,
            )
        )
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
