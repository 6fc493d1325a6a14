"""Bahdanau attention: an alignment model, learned in the loop of a recurrent decoder.

Dimensions: batch; query_len and key_len (positions), for a decoder tgt_len and src_len (tokens);
d_query, d_memory, d_attention, d_embedding, d_hidden; vocab_size.
Masks are boolean, True where a query may attend to a key.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from course_lib.encoded import Encoded
from course_lib.recurrent_cells import GRUCell


class AdditiveAttention(nn.Module):
    """Average the memory, weighted by a learned score of each pair of query and memory.

    ::

        e_ti     = v . tanh(W s_t + U h_i)        the alignment model
        alpha_ti = softmax over i of e_ti
        c_t      = sum over i of alpha_ti h_i

    with s_t a query and h_i a vector of the memory.

    Args:
        d_query: Width of the queries.
        d_memory: Width of the memory's vectors.
        d_attention: Width of the alignment model's hidden layer.

    Attributes:
        query_projection: ``nn.Linear(d_query, d_attention)`` without bias, W.
        key_projection: ``nn.Linear(d_memory, d_attention)`` without bias, U.
        score: ``nn.Linear(d_attention, 1)`` without bias, v.

    Raises:
        ValueError: A width is not positive.

    Source: Bahdanau et al. (2015), section 3.1, equations 5 and 6, and appendix A.1.2; chapter
        "Bahdanau attention".
    """

    def __init__(self, d_query: int, d_memory: int, d_attention: int) -> None:
        super().__init__()
        if min(d_query, d_memory, d_attention) < 1:
            raise ValueError(
                f"widths must be at least 1, got {d_query=}, {d_memory=} and {d_attention=}"
            )
        self.query_projection = nn.Linear(d_query, d_attention, bias=False)
        self.key_projection = nn.Linear(d_memory, d_attention, bias=False)
        self.score = nn.Linear(d_attention, 1, bias=False)

    def forward(
        self,
        query: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        *,
        keys: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Look at the memory with each query.

        Args:
            query: ``(batch, query_len, d_query)``.
            memory: ``(batch, key_len, d_memory)``.
            mask: Boolean, broadcastable to ``(batch, query_len, key_len)``, True where a query may
                attend. A query that may attend to nothing gets weights and a context of zero.
            keys: ``(batch, key_len, d_attention)``, the memory as ``key_projection`` gave it, if it
                is at hand: a decoder needs it at every step, and it never changes.
            return_weights: Also return the weights.

        Returns:
            The contexts ``(batch, query_len, d_memory)``; with ``return_weights`` the pair of
            contexts and weights ``(batch, query_len, key_len)``.

        Raises:
            TypeError: ``mask`` is not boolean.
            ValueError: ``query`` and ``memory`` differ in batch.
        """
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError(f"mask must be boolean (True = may attend), got {mask.dtype}")
        if query.size(0) != memory.size(0):
            raise ValueError(
                f"query and memory must agree in batch, got {query.size(0)} and {memory.size(0)}"
            )
        keys = self.key_projection(memory) if keys is None else keys
        scores = self.align(query, keys)  # (batch, query_len, key_len)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:  # a row of -inf alone has no softmax: such a query gets zeros
            weights = weights.masked_fill(~mask, 0.0)
        context = weights @ memory  # (batch, query_len, d_memory)
        return (context, weights) if return_weights else context

    def align(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score how well each query and each key go together.

        Args:
            query: ``(batch, query_len, d_query)``.
            keys: ``(batch, key_len, d_attention)``, the memory as ``key_projection`` gave it.

        Returns:
            ``(batch, query_len, key_len)``, any real numbers.
        """
        projected = self.query_projection(query)  # (batch, query_len, d_attention)
        pairs = projected[:, :, None] + keys[:, None]  # (batch, query_len, key_len, d_attention)
        return self.score(torch.tanh(pairs)).squeeze(-1)


@dataclass(frozen=True, kw_only=True)
class AttentionDecoderState:
    """What an ``AttentionDecoder`` carries from step to step.

    Attributes:
        hidden: ``(batch, d_hidden)``, the cell's state.
        memory: ``(batch, src_len, d_memory)``, the encoded source, the same at every step.
        keys: ``(batch, src_len, d_attention)``, the memory's projection, likewise.
        mask: ``(batch, src_len)``, boolean, True where the memory holds something.
    """

    hidden: Tensor
    memory: Tensor
    keys: Tensor
    mask: Tensor

    def select(self, indices: Tensor) -> "AttentionDecoderState":
        """Return the state of chosen rows of the batch.

        Args:
            indices: ``(new_batch,)``, int64.

        Returns:
            A state whose row i is row ``indices[i]`` of this one.
        """
        return AttentionDecoderState(
            hidden=self.hidden.index_select(0, indices),
            memory=self.memory.index_select(0, indices),
            keys=self.keys.index_select(0, indices),
            mask=self.mask.index_select(0, indices),
        )


class AttentionDecoder(nn.Module):
    """Write a target sentence, looking at the source anew before each token.

    ::

        s_0 = tanh(W c)                           the bridge, from the context of the whole
        c_t = attention(s_{t-1}, memory)          a context of its own for each step
        s_t = cell([y_{t-1}; c_t], s_{t-1})
        logits of y_t = V [s_t; y_{t-1}; c_t]

    with y the token's embedding and [;] one vector after the other.

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
        if min(vocab_size, d_embedding, d_hidden, d_memory) < 1:
            raise ValueError(
                "sizes must be at least 1, got "
                f"{vocab_size=}, {d_embedding=}, {d_hidden=} and {d_memory=}"
            )
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
            tgt: ``(batch, tgt_len)``, int64: what has been written before each step, that is the
                start token, then the target without its last token.
            encoded: The encoded sources.
            return_weights: Also return where the decoder looked.

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
        """Make the state before the first target token.

        Args:
            encoded: The encoded sources.

        Returns:
            The state.
        """
        return AttentionDecoderState(
            hidden=torch.tanh(self.bridge(encoded.context)),
            memory=encoded.memory,
            keys=self.attention.key_projection(encoded.memory),
            mask=encoded.mask,
        )

    def step(
        self, tgt: Tensor, state: AttentionDecoderState
    ) -> tuple[Tensor, AttentionDecoderState]:
        """Go on by one token, or by several that are known.

        Args:
            tgt: ``(batch, new_len)``, int64: the tokens after those that led to ``state``.
            state: What ``start`` or the last ``step`` returned.

        Returns:
            Logits ``(batch, new_len, vocab_size)``, each of the token after; and the new state.

        Raises:
            ValueError: ``tgt`` is empty, or its batch is not that of ``state``.
            IndexError: A token id is not from 0 to ``vocab_size - 1``.
        """
        logits, _, state = self._run(tgt, state)
        return logits, state

    def _run(
        self, tgt: Tensor, state: AttentionDecoderState
    ) -> tuple[Tensor, Tensor, AttentionDecoderState]:
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
