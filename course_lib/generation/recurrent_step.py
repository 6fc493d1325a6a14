"""A recurrent decoder as a ``StepModel``, for the decoding algorithms.

Dimensions: batch; new_len (tokens); vocab_size.
"""

from typing import Any, Protocol, Self

from torch import Tensor

from course_lib.generation.step_model import check_evaluation_mode, in_full_precision
from course_lib.models.seq2seq import Encoded


class DecoderState(Protocol):
    """What a decoder carries from step to step."""

    def select(self, indices: Tensor) -> Self:
        """Return the state of chosen rows of the batch.

        Args:
            indices: ``(new_batch,)``, int64.

        Returns:
            A state whose row i is row ``indices[i]`` of this one.
        """
        ...


class RecurrentDecoderLike(Protocol):
    """What ``RecurrentDecoder`` and ``AttentionDecoder`` have in common."""

    def start(self, encoded: Encoded) -> DecoderState:
        """Make the state before the first target token.

        Args:
            encoded: The encoded sources.

        Returns:
            The state.
        """
        ...

    def step(self, tgt: Tensor, state: Any) -> tuple[Tensor, DecoderState]:
        """Go on by one token, or by several that are known.

        Args:
            tgt: ``(batch, new_len)``, int64.
            state: What ``start`` or the last ``step`` returned.

        Returns:
            Logits ``(batch, new_len, vocab_size)``, each of the token after; and the new state.
        """
        ...


class SteppedDecoder:
    """A recurrent decoder part-way through a batch: a ``StepModel``.

    >>> import torch
    >>> from course_lib.models.seq2seq import RecurrentDecoder, RecurrentEncoder
    >>> encoder, decoder = RecurrentEncoder(9, 4, 6), RecurrentDecoder(7, 4, 6, d_memory=12)
    >>> steps = SteppedDecoder(decoder, encoder(torch.tensor([[5, 8, 2]])))
    >>> steps.advance(torch.tensor([[1]])).shape
    torch.Size([1, 7])

    Args:
        decoder: Such as a ``RecurrentDecoder`` or an ``AttentionDecoder``, in evaluation mode.
        encoded: The sources, one for each sequence to write.

    Attributes:
        decoder: The decoder.
        state: Its state after the tokens read so far; it has one size however many they are.

    Raises:
        ValueError: The decoder's dropout is at work.

    Source: chapter "Decoding".
    """

    def __init__(self, decoder: RecurrentDecoderLike, encoded: Encoded) -> None:
        check_evaluation_mode(decoder)
        self.decoder = decoder
        self.state = decoder.start(encoded)

    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and say what may follow the last of them; see ``StepModel``."""
        logits, self.state = self.decoder.step(tokens, self.state)
        return in_full_precision(logits[:, -1])

    def reorder(self, indices: Tensor) -> None:
        """Go on with chosen sequences; see ``StepModel``."""
        self.state = self.state.select(indices)
