"""Recurrent language model: one state for all tokens so far.

Dimensions: batch; length (tokens); d_embedding; d_hidden; num_layers; vocab_size.
"""

from torch import Tensor, nn

from course_lib.layers.embedding import TokenEmbedding
from course_lib.layers.recurrent import FusedRecurrent, State
from course_lib.layers.recurrent_cells import GRUCell, LSTMCell, RNNCell


class RecurrentLanguageModel(nn.Module):
    """Predict the next token from a state that has read every token so far.

    ::

        h_t = cell(h_{t-1}, e_t)                   e_t the embedding of token t
        logits of token t + 1 = V h_t + b

    >>> import torch
    >>> model = RecurrentLanguageModel(9, d_embedding=4, d_hidden=8)
    >>> model(torch.tensor([[1, 5, 3], [1, 7, 2]])).shape
    torch.Size([2, 3, 9])

    Args:
        vocab_size: Number of token ids.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the state.
        cell: The kind of cell.
        num_layers: Number of recurrent layers.

    Attributes:
        embedding: ``TokenEmbedding(vocab_size, d_embedding)``.
        recurrent: The network that reads the embeddings.
        output: ``nn.Linear(d_hidden, vocab_size)``, V and b.

    Source: Mikolov et al. (2010), section 2; chapter "Language models".
    """

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        *,
        cell: type[RNNCell] | type[GRUCell] | type[LSTMCell] = RNNCell,
        num_layers: int = 1,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_embedding)
        self.recurrent = FusedRecurrent(d_embedding, d_hidden, cell=cell, num_layers=num_layers)
        self.output = nn.Linear(d_hidden, vocab_size)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each next token, ``(batch, length, vocab_size)``.

        ``tokens``, int64 ``(batch, length)``, are the start token, then the sentence; padding at
        the end changes nothing before it.
        """
        logits, _ = self.read(tokens)
        return logits

    def read(self, tokens: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read further tokens ``(batch, length)`` from a state, zeros if None.

        Return the logits ``(batch, length, vocab_size)`` and the new state ``(num_layers, batch,
        d_hidden)``, for an LSTM a pair. Detach the state to stop gradients at the beginning of the
        next tokens (truncated backpropagation through time).
        """
        hidden, state = self.recurrent(self.embedding(tokens), state)  # (batch, length, d_hidden)
        return self.output(hidden), state
