"""Sequence to sequence with one context vector: a recurrent encoder and a recurrent decoder.

Dimensions: batch; src_len, tgt_len (tokens); d_embedding; d_hidden (state of one direction);
d_memory = directions * d_hidden of the encoder; vocab_size.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.layers.recurrent import FusedRecurrent, State
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell
from course_lib.validation import check_at_least


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """An encoded batch: a vector for each token or region of the source, and one for the whole.

    >>> encoder = RecurrentEncoder(9, d_embedding=4, d_hidden=3)
    >>> encoded = encoder(torch.tensor([[5, 3, 2], [7, 2, 0]]), lengths=torch.tensor([3, 2]))
    >>> encoded.mask
    tensor([[ True,  True,  True],
            [ True,  True, False]])

    Attributes:
        memory: ``(batch, src_len, d_memory)``, a vector for each token or region; attention reads
            them.
        context: ``(batch, d_memory)``, one vector for the whole source; a decoder without attention
            reads only this.
        mask: ``(batch, src_len)``, boolean, False at padding.

    Source: Cho et al. (2014), section 2.2; chapter "Sequence to sequence".
    """

    memory: Tensor
    context: Tensor
    mask: Tensor


class RecurrentEncoder(nn.Module):
    """Read a source sentence: a vector for each token, and one for the whole sentence.

    >>> encoder = RecurrentEncoder(9, d_embedding=4, d_hidden=3)  # in both directions
    >>> encoded = encoder(torch.tensor([[5, 3, 2], [7, 2, 0]]), lengths=torch.tensor([3, 2]))
    >>> encoded.memory.shape, encoded.context.shape
    (torch.Size([2, 3, 6]), torch.Size([2, 6]))

    Args:
        vocab_size: Number of source token ids.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the state of each direction.
        cell: The kind of cell.
        num_layers: Number of recurrent layers.
        bidirectional: Whether the sentence is read in both directions.

    Attributes:
        embedding: ``nn.Embedding(vocab_size, d_embedding)``.
        recurrent: The network that reads the embeddings.
        d_memory: Width of the memory: ``d_hidden``, twice that if bidirectional.

    Source: Cho et al. (2014), section 2.2; chapter "Sequence to sequence".
    """

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        *,
        cell: type[RNNCell] | type[GRUCell] | type[LSTMCell] = GRUCell,
        num_layers: int = 1,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        check_at_least(1, vocab_size=vocab_size, d_embedding=d_embedding, d_hidden=d_hidden)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.recurrent = FusedRecurrent(
            d_embedding, d_hidden, cell=cell, num_layers=num_layers, bidirectional=bidirectional
        )
        self.d_memory = d_hidden * self.recurrent.directions

    def forward(self, src: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode sentences.

        Args:
            src: ``(batch, src_len)``, int64, source token ids, padded at the end.
            lengths: ``(batch,)``, integers: number of real tokens of each source; all if None.

        Returns:
            The top layer's states at each token as memory (zeros at padding), and its last states
            as context: for the forward direction that at the last real token, for the backward one
            that at the first.

        Raises:
            ValueError: ``src`` is empty, or a length is not from 1 to src_len.
            IndexError: A token id is not from 0 to ``vocab_size - 1``.
        """
        memory, final = self.recurrent(self.embedding(src), lengths=lengths)
        hidden = final[0] if isinstance(final, tuple) else final  # an LSTM's memory cell stays here
        top = hidden[-self.recurrent.directions :]  # (directions, batch, d_hidden)
        mask = torch.ones_like(src, dtype=torch.bool)
        if lengths is not None:
            mask = torch.arange(src.size(1), device=src.device) < lengths.to(src.device)[:, None]
        return Encoded(memory=memory, context=top.transpose(0, 1).flatten(1), mask=mask)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecurrentDecoderState:
    """The state of a ``RecurrentDecoder`` between steps.

    >>> state = RecurrentDecoderState(recurrent=torch.zeros(1, 2, 4), context=torch.zeros(2, 6))
    >>> state.select(torch.tensor([1, 1, 0])).context.shape
    torch.Size([3, 6])

    Attributes:
        recurrent: State of its network, ``(num_layers, batch, d_hidden)``; an LSTM's is a pair.
        context: ``(batch, d_memory)``, the source's one vector, the same at every step.
    """

    recurrent: State
    context: Tensor

    def select(self, indices: Tensor) -> "RecurrentDecoderState":
        """Return the state of chosen rows: row i is row ``indices[i]`` of this one."""
        if isinstance(self.recurrent, tuple):
            hidden, memory = self.recurrent
            chosen: State = hidden.index_select(1, indices), memory.index_select(1, indices)
        else:
            chosen = self.recurrent.index_select(1, indices)
        return RecurrentDecoderState(
            recurrent=chosen, context=self.context.index_select(0, indices)
        )


class RecurrentDecoder(nn.Module):
    """Write a target sentence from the context vector of the source alone.

    ::

        s_0 = tanh(W c)                           the bridge
        s_t = cell(s_{t-1}, [y_{t-1}; c])
        logits of y_t = V [s_t; y_{t-1}; c]

    with y the token's embedding, c the context and [;] one vector after the other.

    >>> encoder = RecurrentEncoder(9, d_embedding=4, d_hidden=3)
    >>> decoder = RecurrentDecoder(8, d_embedding=4, d_hidden=5, d_memory=encoder.d_memory)
    >>> decoder(torch.tensor([[1, 4]]), encoder(torch.tensor([[5, 3, 2]]))).shape
    torch.Size([1, 2, 8])

    Args:
        vocab_size: Number of target token ids.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the state.
        d_memory: Width of the encoder's context.
        cell: The kind of cell. An LSTM's memory starts from zeros.
        num_layers: Number of recurrent layers.

    Attributes:
        embedding: ``nn.Embedding(vocab_size, d_embedding)``.
        bridge: ``nn.Linear(d_memory, num_layers * d_hidden)``, from the context to the first state.
        recurrent: The network, which reads ``d_embedding + d_memory`` numbers at each step.
        output: ``nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)``.

    Source: Cho et al. (2014), section 2.2; chapter "Sequence to sequence".
    """

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        d_memory: int,
        *,
        cell: type[RNNCell] | type[GRUCell] | type[LSTMCell] = GRUCell,
        num_layers: int = 1,
    ) -> None:
        super().__init__()
        check_at_least(1, vocab_size=vocab_size, d_embedding=d_embedding)
        check_at_least(1, d_hidden=d_hidden, d_memory=d_memory)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.recurrent = FusedRecurrent(
            d_embedding + d_memory, d_hidden, cell=cell, num_layers=num_layers
        )
        self.bridge = nn.Linear(d_memory, num_layers * d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        self._has_memory = cell is LSTMCell

    def forward(self, tgt: Tensor, encoded: Encoded) -> Tensor:
        """Score target sentences with teacher forcing: logits ``(batch, tgt_len, vocab_size)``.

        ``tgt``, int64 ``(batch, tgt_len)``, is the start token, then the target without
        its last token.
        """
        logits, _ = self.step(tgt, self.start(encoded))
        return logits

    def start(self, encoded: Encoded) -> RecurrentDecoderState:
        """Return the state before the first target token."""
        layers = torch.tanh(self.bridge(encoded.context))  # (batch, num_layers * d_hidden)
        hidden = torch.stack(layers.chunk(self.recurrent.num_layers, dim=1))
        state = (hidden, torch.zeros_like(hidden)) if self._has_memory else hidden
        return RecurrentDecoderState(recurrent=state, context=encoded.context)

    def step(
        self, tgt: Tensor, state: RecurrentDecoderState
    ) -> tuple[Tensor, RecurrentDecoderState]:
        """Read further target tokens, int64 ``(batch, new_len)``, from a state.

        Return logits ``(batch, new_len, vocab_size)``, each of the next token, and the state after
        the last.
        """
        if tgt.size(0) != state.context.size(0):
            raise ValueError(
                f"tgt has a batch of {tgt.size(0)}, the sources one of {state.context.size(0)}"
            )
        context = state.context[:, None].expand(-1, tgt.size(1), -1)  # (batch, new_len, d_memory)
        written = torch.cat([self.embedding(tgt), context], dim=-1)
        hidden, recurrent = self.recurrent(written, state.recurrent)  # (batch, new_len, d_hidden)
        logits = self.output(torch.cat([hidden, written], dim=-1))
        return logits, RecurrentDecoderState(recurrent=recurrent, context=state.context)


class Seq2Seq(nn.Module):
    """A model of the target sentence given the source: an encoder, then a decoder.

    >>> encoder = RecurrentEncoder(9, d_embedding=4, d_hidden=3)
    >>> decoder = RecurrentDecoder(8, d_embedding=4, d_hidden=5, d_memory=encoder.d_memory)
    >>> Seq2Seq(encoder, decoder)(torch.tensor([[5, 3, 2]]), torch.tensor([[1, 4]])).shape
    torch.Size([1, 2, 8])

    Args:
        encoder: Called as ``encoder(src, lengths)``, returns an ``Encoded``.
        decoder: A ``RecurrentDecoder``, which gets the context alone, or an ``AttentionDecoder``,
            which looks at the memory. Its ``d_memory`` is the encoder's.

    Source: Sutskever et al. (2014), section 2; Cho et al. (2014); chapter "Sequence to sequence".
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src: Tensor, tgt: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score target sentences with teacher forcing: logits ``(batch, tgt_len, vocab_size)``.

        ``src`` is ``(batch, src_len)``, padded at the end, of which ``lengths``, ``(batch,)``, are
        real; ``tgt``, ``(batch, tgt_len)``, is the start token, then the target without its last
        token.
        """
        return self.decoder(tgt, self.encoder(src, lengths))
