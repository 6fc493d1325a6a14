"""Neural language model: a window of embedded tokens, one hidden layer; the first of its kind.

Dimensions: batch; length (tokens); context_size (tokens of the window); d_embedding; d_hidden;
vocab_size.
"""

import torch
from torch import Tensor, nn

from course_lib.layers.embedding import TokenEmbedding
from course_lib.validation import check_at_least


class NeuralLanguageModel(nn.Module):
    """Predict the next token from the embeddings of the last few, side by side.

    ::

        x = [e_1; ...; e_context_size]             the embeddings, oldest first
        logits = b + U tanh(d + H x)

    >>> model = NeuralLanguageModel(9, context_size=3, d_embedding=4, d_hidden=8, bos_id=1)
    >>> model(torch.tensor([[1, 5, 3], [1, 7, 2]])).shape
    torch.Size([2, 3, 9])

    Args:
        vocab_size: Number of token ids.
        context_size: Number of tokens that the model sees; an n-gram's order less 1.
        d_embedding: Width of the token embeddings.
        d_hidden: Width of the hidden layer.
        bos_id: The token id that fills the window at the beginning of a sequence.

    Attributes:
        embedding: ``TokenEmbedding(vocab_size, d_embedding)``.
        hidden: ``nn.Linear(context_size * d_embedding, d_hidden)``, H and d.
        output: ``nn.Linear(d_hidden, vocab_size)``, U and b.

    Raises:
        ValueError: A size is not positive, or ``bos_id`` is no token id.

    Source: Bengio et al. (2003), section 2, equation 1 with W = 0; chapter "Language models".
    """

    def __init__(
        self,
        vocab_size: int,
        context_size: int,
        d_embedding: int,
        d_hidden: int,
        *,
        bos_id: int,
    ) -> None:
        super().__init__()
        check_at_least(1, vocab_size=vocab_size, context_size=context_size)
        check_at_least(1, d_embedding=d_embedding, d_hidden=d_hidden)
        if not 0 <= bos_id < vocab_size:
            raise ValueError(f"bos_id must be from 0 to {vocab_size - 1}, got {bos_id}")
        self.context_size = context_size
        self.bos_id = bos_id
        self.embedding = TokenEmbedding(vocab_size, d_embedding)
        self.hidden = nn.Linear(context_size * d_embedding, d_hidden)
        self.output = nn.Linear(d_hidden, vocab_size)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of each next token, ``(batch, length, vocab_size)``.

        ``tokens``, int64 ``(batch, length)``, are the start token, then the sentence.
        """
        e = self.embedding(tokens)  # (batch, length, d_embedding)
        start = self.embedding.weight[self.bos_id].expand(e.size(0), self.context_size - 1, -1)
        e = torch.cat([start, e], dim=1)  # (batch, context_size - 1 + length, d_embedding)
        windows = e.unfold(1, self.context_size, 1)  # (batch, length, d_embedding, context_size)
        x = windows.transpose(-2, -1).flatten(-2)  # (batch, length, context_size * d_embedding)
        return self.output(torch.tanh(self.hidden(x)))  # (batch, length, vocab_size)
