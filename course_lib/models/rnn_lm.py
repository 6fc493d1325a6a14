"""Recurrent language model: all that came before, in one state.

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

    Raises:
        ValueError: A size is not positive.

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
        """Predict each next token of whole sequences.

        Args:
            tokens: ``(batch, length)``, int64: what has been written before each step, that is the
                start token, then the sentence. Padding at the end changes nothing before it.

        Returns:
            Logits ``(batch, length, vocab_size)``, at position t those of the token after
            ``tokens[:, t]``.
        """
        logits, _ = self.read(tokens)
        return logits

    def read(self, tokens: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Go on from a state: to write step by step, or to train on a long text in pieces.

        Args:
            tokens: ``(batch, length)``, int64: the tokens that come next.
            state: What the last ``read`` returned; zeros if None. Detach it to let no gradient flow
                back into the piece before (truncated backpropagation through time).

        Returns:
            Logits ``(batch, length, vocab_size)``, as of ``forward``; and the state after the last
            token, ``(num_layers, batch, d_hidden)``, an LSTM's a pair of such tensors.
        """
        hidden, state = self.recurrent(self.embedding(tokens), state)  # (batch, length, d_hidden)
        return self.output(hidden), state
