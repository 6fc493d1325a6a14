"""Attention decoder of Bahdanau et al. (2015), for a recurrent encoder.

Dimensions: batch; tgt_len and src_len (tokens); d_memory, d_attention, d_embedding, d_hidden;
vocab_size. Masks are boolean, True where a query may attend to a key.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from course_lib.layers.additive_attention import AdditiveAttention
from course_lib.layers.recurrent_cells import GRUCell
from course_lib.models.seq2seq import Encoded
from course_lib.validation import check_at_least


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionDecoderState:
    """The state of an ``AttentionDecoder`` between steps.

    >>> decoder = AttentionDecoder(9, d_embedding=2, d_hidden=3, d_memory=4)
    >>> mask = torch.ones(2, 5, dtype=torch.bool)
    >>> encoded = Encoded(memory=torch.randn(2, 5, 4), context=torch.randn(2, 4), mask=mask)
    >>> state = decoder.start(encoded)
    >>> state.select(torch.tensor([1, 1, 0])).hidden.shape
    torch.Size([3, 3])

    Attributes:
        hidden: ``(batch, d_hidden)``, the cell's state.
        memory: ``(batch, src_len, d_memory)``, the encoded source, the same at every step.
        keys: ``(batch, src_len, d_attention)``, the memory's projection, the same at every step.
        mask: ``(batch, src_len)``, boolean, False at padding.
    """

    hidden: Tensor
    memory: Tensor
    keys: Tensor
    mask: Tensor

    def select(self, indices: Tensor) -> "AttentionDecoderState":
        """Return the state of chosen rows: row i is row ``indices[i]`` of this one.

        ``indices`` is int64 ``(new_batch,)``.
        """
        return AttentionDecoderState(
            hidden=self.hidden.index_select(0, indices),
            memory=self.memory.index_select(0, indices),
            keys=self.keys.index_select(0, indices),
            mask=self.mask.index_select(0, indices),
        )


class AttentionDecoder(nn.Module):
    """Write a target sentence, with attention to the source before each token.

    ::

        s_0 = tanh(W c)                           the bridge, from the context of the whole
        c_t = attention(s_{t-1}, memory)          a context of its own for each step
        s_t = cell([y_{t-1}; c_t], s_{t-1})
        logits of y_t = V [s_t; y_{t-1}; c_t]

    with y the token's embedding and [;] one vector after the other.

    >>> decoder = AttentionDecoder(9, d_embedding=2, d_hidden=3, d_memory=4)
    >>> mask = torch.ones(2, 5, dtype=torch.bool)
    >>> encoded = Encoded(memory=torch.randn(2, 5, 4), context=torch.randn(2, 4), mask=mask)
    >>> logits, weights = decoder(torch.tensor([[1, 4], [1, 7]]), encoded, return_weights=True)
    >>> logits.shape, weights.shape
    (torch.Size([2, 2, 9]), torch.Size([2, 2, 5]))

    Args:
        vocab_size: Number of target token ids.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the state.
        d_memory: Width of the encoder's memory and context.
        d_attention: Width of the alignment model's hidden layer; ``d_hidden`` if None.

    Attributes:
        embedding: ``nn.Embedding(vocab_size, d_embedding)``.
        bridge: ``nn.Linear(d_memory, d_hidden)``, from the context to the first state.
        attention: The alignment model and the average.
        cell: A ``GRUCell``, which reads ``d_embedding + d_memory`` numbers at each step.
        output: ``nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)``.

    Raises:
        ValueError: A size is not positive.

    Source: Bahdanau et al. (2015), section 3.1, equation 4, and appendix A.2.2, where a maxout
        layer stands before the output and s_0 comes from the backward state alone; chapter
        "Bahdanau attention".
    """

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        d_memory: int,
        *,
        d_attention: int | None = None,
    ) -> None:
        super().__init__()
        check_at_least(1, vocab_size=vocab_size, d_embedding=d_embedding)
        check_at_least(1, d_hidden=d_hidden, d_memory=d_memory)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)
        self.attention = AdditiveAttention(
            d_hidden, d_memory, d_hidden if d_attention is None else d_attention
        )
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)

    def forward(
        self, tgt: Tensor, encoded: Encoded, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Score target sentences, each token given the true ones before it (teacher forcing).

        Args:
            tgt: ``(batch, tgt_len)``, int64: the token before each step, that is the
                start token, then the target without its last token.
            encoded: The encoded sources.
            return_weights: Also return the attention weights.

        Returns:
            Logits ``(batch, tgt_len, vocab_size)``, at position t those of the token after
            ``tgt[:, t]``; with ``return_weights`` the pair of logits and weights ``(batch,
            tgt_len, src_len)``, row t for the token that is written at step t.

        Raises:
            ValueError: ``tgt`` is empty, or its batch is not that of ``encoded``.
            IndexError: A token id is not from 0 to ``vocab_size - 1``.
        """
        logits, weights, _ = self._run(tgt, self.start(encoded))
        return (logits, weights) if return_weights else logits

    def start(self, encoded: Encoded) -> AttentionDecoderState:
        """Return the state before the first target token."""
        # A weight of 0 times NaN would be NaN, in gradients too.
        spoiled = ~encoded.mask.flatten(1)[..., None] & ~encoded.memory.isfinite()
        encoded = replace(encoded, memory=encoded.memory.masked_fill(spoiled, 0.0))
        return AttentionDecoderState(
            hidden=torch.tanh(self.bridge(encoded.context)),
            memory=encoded.memory,
            keys=self.attention.key_projection(encoded.memory),
            mask=encoded.mask,
        )

    def step(
        self, tgt: Tensor, state: AttentionDecoderState
    ) -> tuple[Tensor, AttentionDecoderState]:
        """Read further target tokens, int64 ``(batch, new_len)``, from a state.

        Return logits ``(batch, new_len, vocab_size)``, each of the next token, and the state after
        the last. Errors are those of ``forward``.
        """
        logits, _, state = self._run(tgt, state)
        return logits, state

    def _run(
        self, tgt: Tensor, state: AttentionDecoderState
    ) -> tuple[Tensor, Tensor, AttentionDecoderState]:
        """Return the logits, the attention weights and the state after the tokens of ``tgt``."""
        if tgt.size(0) != state.hidden.size(0) or tgt.size(1) < 1:
            raise ValueError(
                f"tgt must have {state.hidden.size(0)} rows, as the sources have, and at least one "
                f"token in each, got shape {tuple(tgt.shape)}"
            )
        hidden = state.hidden
        read, looked = [], []
        for embedded in self.embedding(tgt).unbind(dim=1):  # (batch, d_embedding)
            context, weights = self.attention(
                hidden[:, None],
                state.memory,
                state.mask[:, None],
                keys=state.keys,
                return_weights=True,
            )  # (batch, 1, d_memory), (batch, 1, src_len)
            written = torch.cat([embedded, context.squeeze(1)], dim=-1)
            hidden = self.cell(written, hidden)  # (batch, d_hidden)
            read.append(torch.cat([hidden, written], dim=-1))
            looked.append(weights)
        logits = self.output(torch.stack(read, dim=1))  # (batch, new_len, vocab_size)
        return logits, torch.cat(looked, dim=1), replace(state, hidden=hidden)
