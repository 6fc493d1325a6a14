"""Toy tasks whose alignment is known: copy, reverse and sort.

Each target token is one of the source tokens, so attention can be compared with the truth.

Dimensions: batch; length (tokens of the longest sequence of the batch). Token ids: ``PAD_ID`` for
padding, ``BOS_ID`` for a decoder's start token, symbols from ``FIRST_SYMBOL_ID`` on.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

PAD_ID = 0
BOS_ID = 1
FIRST_SYMBOL_ID = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedBatch:
    """Pairs of source and target sequences with the true alignment.

    >>> generator = torch.Generator().manual_seed(0)
    >>> batch = draw_reverse(2, min_length=3, max_length=3, num_symbols=9, generator=generator)
    >>> torch.equal(batch.tgt, batch.src.flip(1)), batch.alignment[0]
    (True, tensor([2, 1, 0]))

    Attributes:
        src: ``(batch, length)``, token ids of the sources, padded with ``PAD_ID``.
        tgt: ``(batch, length)``, token ids of the targets, likewise.
        alignment: ``(batch, length)``: ``tgt[b, t] == src[b, alignment[b, t]]``; -1 at padding.
        lengths: ``(batch,)``, number of tokens of each pair, without padding.
    """

    src: Tensor
    tgt: Tensor
    alignment: Tensor
    lengths: Tensor

    @property
    def previous(self) -> Tensor:
        """Decoder inputs ``(batch, length)``: ``BOS_ID``, then ``tgt`` without its last column."""
        shifted = self.tgt.roll(1, dims=1)
        shifted[:, 0] = BOS_ID
        return shifted

    def to(self, device: torch.device | str) -> "AlignedBatch":
        """Return the batch with every tensor on a device."""
        return AlignedBatch(
            src=self.src.to(device),
            tgt=self.tgt.to(device),
            alignment=self.alignment.to(device),
            lengths=self.lengths.to(device),
        )


def draw_copy(
    batch_size: int,
    *,
    min_length: int,
    max_length: int,
    num_symbols: int,
    generator: torch.Generator,
    distinct: bool = False,
) -> AlignedBatch:
    """Draw sequences to copy: ``alignment[b, t] = t``.

    Args:
        batch_size: Number of sequences.
        min_length: Fewest tokens of a sequence.
        max_length: Most tokens of a sequence; every length between is equally likely.
        num_symbols: Number of symbols. Their ids begin at ``FIRST_SYMBOL_ID``, so a model needs a
            vocabulary of ``FIRST_SYMBOL_ID + num_symbols``.
        generator: Source of the random numbers, on the CPU.
        distinct: Whether the symbols of a sequence are all different.

    Returns:
        The batch.

    Source: chapter "What attention learns, and what it can't".
    """
    src, lengths = _draw_sources(
        batch_size, min_length, max_length, num_symbols, generator, distinct
    )
    return _align(src, lengths, torch.arange(src.size(1)).expand_as(src))


def draw_reverse(
    batch_size: int,
    *,
    min_length: int,
    max_length: int,
    num_symbols: int,
    generator: torch.Generator,
    distinct: bool = False,
) -> AlignedBatch:
    """Draw sequences to reverse: ``alignment[b, t] = lengths[b] - 1 - t``.

    The arguments are those of ``draw_copy``.

    Source: chapter "What attention learns, and what it can't".
    """
    src, lengths = _draw_sources(
        batch_size, min_length, max_length, num_symbols, generator, distinct
    )
    return _align(src, lengths, lengths[:, None] - 1 - torch.arange(src.size(1)))


def draw_sort(
    batch_size: int,
    *,
    min_length: int,
    max_length: int,
    num_symbols: int,
    generator: torch.Generator,
    distinct: bool = True,
) -> AlignedBatch:
    """Draw sequences to sort by token id: ``alignment[b, t]`` is the position of the t-th smallest.

    The arguments are those of ``draw_copy``. The sort is stable.

    Source: chapter "What attention learns, and what it can't".
    """
    src, lengths = _draw_sources(
        batch_size, min_length, max_length, num_symbols, generator, distinct
    )
    keys = src.masked_fill(src == PAD_ID, FIRST_SYMBOL_ID + num_symbols)  # padding sorts last
    order = keys.sort(dim=1, stable=True).indices
    return _align(src, lengths, order)


def _draw_sources(
    batch_size: int,
    min_length: int,
    max_length: int,
    num_symbols: int,
    generator: torch.Generator,
    distinct: bool,
) -> tuple[Tensor, Tensor]:
    """Return source sequences ``(batch, length)`` and their lengths ``(batch,)``."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if not 1 <= min_length <= max_length:
        raise ValueError(
            f"1 <= min_length <= max_length must hold, got min_length={min_length}, "
            f"max_length={max_length}"
        )
    if num_symbols < 1:
        raise ValueError(f"num_symbols must be at least 1, got {num_symbols}")
    if distinct and num_symbols < max_length:
        raise ValueError(
            f"num_symbols must be at least max_length={max_length} for distinct symbols, "
            f"got {num_symbols}"
        )
    lengths = torch.randint(min_length, max_length + 1, (batch_size,), generator=generator)
    if distinct:
        shuffled = torch.rand(batch_size, num_symbols, generator=generator).argsort(dim=1)
        symbols = shuffled[:, :max_length]
    else:
        symbols = torch.randint(num_symbols, (batch_size, max_length), generator=generator)
    src = (symbols + FIRST_SYMBOL_ID)[:, : int(lengths.max())]  # (batch, length)
    is_padding = torch.arange(src.size(1)) >= lengths[:, None]
    return src.masked_fill(is_padding, PAD_ID), lengths


def _align(src: Tensor, lengths: Tensor, origin: Tensor) -> AlignedBatch:
    """Make a batch whose targets are the source tokens at positions ``origin`` (batch, length)."""
    is_padding = torch.arange(src.size(1)) >= lengths[:, None]  # (batch, length)
    origin = origin.masked_fill(is_padding, 0)
    tgt = src.gather(1, origin).masked_fill(is_padding, PAD_ID)
    return AlignedBatch(
        src=src, tgt=tgt, alignment=origin.masked_fill(is_padding, -1), lengths=lengths
    )
