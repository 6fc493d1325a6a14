"""Batching: sequences of different lengths in batches with little padding, at the end.

Dimensions: batch; length, src_len, tgt_len (tokens).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from course_lib.layers.masks import causal_mask, padding_mask


def pad_sequences(sequences: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Pad sequences of token ids to the longest: ``(batch, length)``, int64.

    >>> pad_sequences([[5, 6, 7], [8]], pad_id=0)
    tensor([[5, 6, 7],
            [8, 0, 0]])

    Source: chapter "Training a Transformer".
    """
    if not sequences:
        raise ValueError("sequences must hold at least one sequence, got none")
    length = max(map(len, sequences))
    return torch.tensor(
        [[*sequence, *[pad_id] * (length - len(sequence))] for sequence in sequences],
        dtype=torch.int64,
    )


def token_batches(
    lengths: Sequence[int], *, max_tokens: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Divide a corpus into batches of about the same number of tokens and of similar lengths.

    >>> token_batches([2, 9, 3, 8], max_tokens=18)
    [[0, 2], [3, 1]]

    Args:
        lengths: Length of each sequence (tokens); of a pair that of its longer side.
        max_tokens: Most tokens of a batch, padding included.
        generator: Shuffles sequences of equal length, then the batches; on the CPU. With None all
            are in order of length, for evaluation.

    Returns:
        For each batch the indices of its sequences; every index is in exactly one batch.

    Source: Vaswani et al. (2017), section 5.1; chapter "Training a Transformer".
    """
    wrong = [length for length in lengths if not 1 <= length <= max_tokens]
    if wrong:
        raise ValueError(f"lengths must lie in 1 to max_tokens={max_tokens}, got {wrong[0]}")
    order = list(range(len(lengths)))
    if generator is not None:
        order = torch.randperm(len(lengths), generator=generator).tolist()
    order.sort(key=lambda index: lengths[index])  # stable: equal lengths stay shuffled

    batches: list[list[int]] = []
    for index in order:
        # In this order a sequence is the longest of its batch so far.
        if batches and (len(batches[-1]) + 1) * lengths[index] <= max_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    if generator is not None:
        shuffled = torch.randperm(len(batches), generator=generator).tolist()
        batches = [batches[number] for number in shuffled]
    return batches


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Pairs of source and target sentences, to train a translation model.

    >>> batch = Batch.collate([([5, 6], [7]), ([8], [9, 5])], pad_id=0, bos_id=1, eos_id=2)
    >>> batch.src
    tensor([[5, 6, 2],
            [8, 2, 0]])
    >>> batch.tgt
    tensor([[1, 7, 2, 0],
            [1, 9, 5, 2]])

    Attributes:
        src: ``(batch, src_len)``, token ids of the sources: tokens, end token, padding.
        tgt: ``(batch, 1 + tgt_len)``, token ids of the targets: start token, tokens, end token,
            padding.
        pad_id: Id of the padding token.
    """

    src: Tensor
    tgt: Tensor
    pad_id: int

    @classmethod
    def collate(
        cls,
        pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
        *,
        pad_id: int,
        bos_id: int,
        eos_id: int,
    ) -> Self:
        """Make a batch of pairs of source and target ids; add start and end tokens, and pad."""
        sources = [[*src, eos_id] for src, _ in pairs]
        targets = [[bos_id, *tgt, eos_id] for _, tgt in pairs]
        return cls(
            src=pad_sequences(sources, pad_id), tgt=pad_sequences(targets, pad_id), pad_id=pad_id
        )

    @property
    def tgt_input(self) -> Tensor:
        """Inputs of the decoder ``(batch, tgt_len)``: ``tgt`` without its last column."""
        return self.tgt[:, :-1]

    @property
    def tgt_output(self) -> Tensor:
        """Labels for the decoder ``(batch, tgt_len)``: ``tgt`` without its first column."""
        return self.tgt[:, 1:]

    @property
    def src_mask(self) -> Tensor:
        """Boolean ``(batch, 1, 1, src_len)``, True where a source token may be attended to."""
        return padding_mask(self.src, self.pad_id)

    @property
    def tgt_mask(self) -> Tensor:
        """Boolean ``(batch, 1, tgt_len, tgt_len)``, True where tokens may attend to tokens."""
        length = self.tgt_input.size(1)
        return padding_mask(self.tgt_input, self.pad_id) & causal_mask(
            length, device=self.tgt.device
        )

    @property
    def num_tokens(self) -> int:
        """Number of labels in ``tgt_output`` that are no padding."""
        return int((self.tgt_output != self.pad_id).sum())

    def to(self, device: torch.device | str) -> Self:
        """Return the batch with both tensors on a device."""
        return type(self)(src=self.src.to(device), tgt=self.tgt.to(device), pad_id=self.pad_id)
