"""Additive attention, Bahdanau's: a learned alignment model.

Dimensions: batch; query_len and key_len (positions); d_query, d_memory, d_attention.
Masks are boolean, True where a query may attend to a key.
"""

import math

import torch
from torch import Tensor, nn

from course_lib.layers.masks import check_mask
from course_lib.validation import check_at_least


class AdditiveAttention(nn.Module):
    """Average the memory, weighted by a learned score of each pair of query and memory.

    ::

        e_ti     = v . tanh(W s_t + U h_i)        the alignment model
        alpha_ti = softmax over i of e_ti
        c_t      = sum over i of alpha_ti h_i

    with s_t a query and h_i a vector of the memory.

    >>> attention = AdditiveAttention(d_query=3, d_memory=4, d_attention=5)
    >>> query, memory = torch.randn(2, 1, 3), torch.randn(2, 6, 4)
    >>> context, weights = attention(query, memory, return_weights=True)
    >>> context.shape, weights.shape
    (torch.Size([2, 1, 4]), torch.Size([2, 1, 6]))

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
        check_at_least(1, d_query=d_query, d_memory=d_memory, d_attention=d_attention)
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
        """Average the memory for each query.

        Args:
            query: ``(batch, query_len, d_query)``.
            memory: ``(batch, key_len, d_memory)``.
            mask: Boolean ``(batch or 1, query_len or 1, key_len or 1)``, True where a query may
                attend. A query that may attend to nothing gets weights and a context of zero.
            keys: ``key_projection`` of the memory, ``(batch, key_len, d_attention)``, computed
                once by a decoder, which needs them at every step; computed here if None.
            return_weights: Also return the weights.

        Returns:
            The contexts ``(batch, query_len, d_memory)``; with ``return_weights`` the pair of
            contexts and weights ``(batch, query_len, key_len)``.

        Raises:
            TypeError: ``mask`` is not boolean.
            ValueError: ``query`` and ``memory`` differ in batch, or ``mask`` has another shape.
        """
        if query.size(0) != memory.size(0):
            raise ValueError(
                f"query and memory must agree in batch, got {query.size(0)} and {memory.size(0)}"
            )
        check_mask(mask, (query.size(0), query.size(1), memory.size(1)))
        if mask is not None and keys is None:  # 0 times NaN would be NaN, in gradients too
            memory = memory.masked_fill(~mask.any(dim=1)[:, :, None], 0.0)
        keys = self.key_projection(memory) if keys is None else keys
        scores = self.align(query, keys)  # (batch, query_len, key_len)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
            # -inf alone has no softmax. Any number will do: its weights become 0.
            scores = scores.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        context = weights @ memory  # (batch, query_len, d_memory)
        return (context, weights) if return_weights else context

    def align(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the alignment model's scores e, ``(batch, query_len, key_len)``.

        ``keys``, ``(batch, key_len, d_attention)``, are ``key_projection`` of the memory.
        """
        projected = self.query_projection(query)  # (batch, query_len, d_attention)
        pairs = projected[:, :, None] + keys[:, None]  # (batch, query_len, key_len, d_attention)
        return self.score(torch.tanh(pairs)).squeeze(-1)
