"""Token embeddings: a learned vector for each token id.

Dimensions: batch; length (tokens); d_model; vocab_size.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.validation import check_at_least


class TokenEmbedding(nn.Embedding):
    """A learned vector for each token id, and a check that the ids are token ids.

    >>> embedding = TokenEmbedding(vocab_size=10, d_model=4)
    >>> embedding(torch.tensor([[1, 5, 2], [1, 7, 0]])).shape
    torch.Size([2, 3, 4])

    Args:
        vocab_size: Number of token ids.
        d_model: Width of the vectors.
        scaled: Multiply the vectors by ``sqrt(d_model)``, as the Transformer does: its embedding
            is also its output projection, whose entries are about ``1 / sqrt(d_model)``, small
            beside those of the positions, which are about 1.

    Attributes:
        weight: ``(vocab_size, d_model)``, one row a token id.
        scale: ``sqrt(d_model)`` if scaled, otherwise 1.

    Source: Vaswani et al. (2017), section 3.4; chapter "The Transformer".
    """

    def __init__(self, vocab_size: int, d_model: int, *, scaled: bool = False) -> None:
        check_at_least(1, vocab_size=vocab_size, d_model=d_model)
        super().__init__(vocab_size, d_model)
        self.scale = math.sqrt(d_model) if scaled else 1.0

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, embeddings: Tensor, freeze: bool = True, *, scaled: bool = False
    ) -> "TokenEmbedding":
        """Make a layer of given vectors ``(vocab_size, d_model)``, such as those of word2vec.

        The layer's weight is this very tensor; ``freeze`` excludes it from training.
        """
        if embeddings.dim() != 2:
            raise ValueError(
                f"embeddings must have shape (vocab_size, d_model), got {tuple(embeddings.shape)}"
            )
        layer = cls(*embeddings.shape, scaled=scaled)
        layer.weight = nn.Parameter(embeddings, requires_grad=not freeze)
        return layer

    def forward(self, token_ids: Tensor) -> Tensor:
        """Return the vectors of token ids.

        Args:
            token_ids: ``(batch, length)``, int64 or int32, from 0 to ``vocab_size - 1``.

        Returns:
            ``(batch, length, d_model)``.

        Raises:
            TypeError: ``token_ids`` is of another dtype.
            ValueError: ``token_ids`` does not have two dimensions, or is empty.
            IndexError: A token id is out of range. (A GPU finds out later: its kernel stops.)
        """
        if token_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"token_ids must be int64 or int32, got {token_ids.dtype}")
        if token_ids.dim() != 2 or token_ids.numel() == 0:
            raise ValueError(
                "token_ids must have shape (batch, length) and hold at least one token, "
                f"got {tuple(token_ids.shape)}"
            )
        try:
            vectors = super().forward(token_ids)  # (batch, length, d_model)
        except IndexError as error:  # checking first would cost a pass over the ids each time
            raise IndexError(
                f"token_ids must lie in 0 to {self.num_embeddings - 1}, "
                f"got {token_ids.min()} to {token_ids.max()}"
            ) from error
        return vectors if self.scale == 1.0 else vectors * self.scale


def start_small(model: nn.Module) -> None:
    """Draw a model's first weights so that vectors keep about their size from layer to layer.

    A Transformer that starts otherwise learns late or never. Parameters of layers other than token
    embeddings and linear layers are left as they are.
    """
    for module in model.modules():
        if isinstance(module, TokenEmbedding):  # times its scale: entries of about 1
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def keep_tied(model: nn.Module) -> None:
    """Call a model's ``tie_weights`` now, and after each ``load_state_dict``.

    ``load_state_dict(..., assign=True)`` and ``to_empty`` give each layer a tensor of its own.
    """
    _tie_again(model)
    model.register_load_state_dict_post_hook(_tie_again)


def _tie_again(model: Any, _: object = None) -> None:
    """Call ``tie_weights``, as a hook of ``load_state_dict``, which passes a second argument."""
    model.tie_weights()
